package main

// Separate hosts on one machine: network namespaces, whose packets this program forwards, delays,
// loses, or drops in one direction.

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hubHost is the index of the hub's host. The workers' hosts follow.
const hubHost = 0

// way is one direction between two hosts.
type way struct{ from, to int }

// weather is what happens to packets.
type weather struct {
	loss          float64       // of each packet, 0 to 1
	delay, jitter time.Duration // each packet is delayed by delay, plus or minus up to jitter
	cut           []way
}

// network is a set of hosts that reach each other only through this program.
type network struct {
	t     *testing.T
	names []string   // of the namespaces
	tuns  []*os.File // their network devices
	wg    sync.WaitGroup

	mu            sync.Mutex
	now           weather
	random        *rand.Rand
	passed, fated int
}

// newNetwork creates hosts. It skips the test where the system does not allow that.
func newNetwork(t *testing.T, hosts int) *network {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: separate hosts need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("SKIPPED: separate hosts need ip (iproute2), which is not installed")
	}
	n := &network{t: t, random: rand.New(rand.NewPCG(*seed, 26))}
	t.Cleanup(n.close)
	for host := range hosts {
		name := fmt.Sprintf("ac%d-%d-%d", os.Getpid(), time.Now().UnixNano()%1e9, host)
		if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: this system refuses to create network namespaces: %v: %s", err, out)
		}
		n.names = append(n.names, name)
		tun, err := openTun(name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			t.Skip("SKIPPED: separate hosts need /dev/net/tun: ", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		n.tuns = append(n.tuns, tun)
		n.ip(name, "addr", "add", n.address(host)+"/24", "dev", tunName)
		n.ip(name, "link", "set", tunName, "up")
		n.ip(name, "link", "set", "lo", "up")
	}
	for host := range n.tuns {
		n.wg.Go(func() { n.serve(host) })
	}
	return n
}

func (n *network) ip(name string, args ...string) {
	n.t.Helper()
	if out, err := exec.Command("ip", append([]string{"-n", name}, args...)...).CombinedOutput(); err != nil {
		n.t.Fatalf("ip %v: %v: %s", args, err, out)
	}
}

// address returns the address of a host. Networks are isolated, so all use the same addresses.
func (*network) address(host int) string { return fmt.Sprintf("10.26.0.%d", host+1) }

// on makes a program run on a host.
func (n *network) on(host int, cmd *exec.Cmd) {
	n.t.Helper()
	ip, err := exec.LookPath("ip")
	if err != nil {
		n.t.Fatal(err)
	}
	cmd.Args = append([]string{"ip", "netns", "exec", n.names[host], cmd.Path}, cmd.Args[1:]...)
	cmd.Path = ip
}

// set changes the weather.
func (n *network) set(now weather) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now = now
}

func (n *network) close() {
	for _, tun := range n.tuns {
		_ = tun.Close() // this ends its reader
	}
	n.wg.Wait()
	for _, name := range n.names {
		if out, err := exec.Command("ip", "netns", "del", name).CombinedOutput(); err != nil {
			n.t.Errorf("ip netns del: %v: %s", err, out)
		}
	}
	n.t.Logf("%d packets passed, %d lost or cut", n.passed, n.fated)
}

// serve forwards the packets of one host.
func (n *network) serve(from int) {
	packet := make([]byte, 65536)
	for {
		size, err := n.tuns[from].Read(packet)
		if err != nil {
			return
		}
		const destination = 16 // of an IPv4 header
		if size < 20 || packet[0]>>4 != 4 {
			continue // IPv6 neighbor discovery
		}
		to := int(packet[destination+3]) - 1
		if packet[destination] != 10 || to < 0 || to >= len(n.tuns) {
			continue
		}
		if late, lost := n.fate(way{from, to}); !lost {
			n.deliver(to, append([]byte(nil), packet[:size]...), late)
		}
	}
}

// fate decides at random whether a packet is lost, and how late it is otherwise.
func (n *network) fate(w way) (late time.Duration, lost bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, cut := range n.now.cut {
		lost = lost || cut == w
	}
	if lost = lost || n.random.Float64() < n.now.loss; lost {
		n.fated++
		return 0, true
	}
	n.passed++
	late = n.now.delay
	if n.now.jitter > 0 {
		late += time.Duration(n.random.Int64N(2*int64(n.now.jitter))) - n.now.jitter
	}
	return late, false
}

func (n *network) deliver(to int, packet []byte, late time.Duration) {
	if late <= 0 {
		_, _ = n.tuns[to].Write(packet) // fails only while the network is being closed
		return
	}
	n.wg.Add(1)
	time.AfterFunc(late, func() {
		defer n.wg.Done()
		_, _ = n.tuns[to].Write(packet) // fails only while the network is being closed
	})
}

// tunName is the name of each host's network device.
const tunName = "ac0"

// openTun creates the network device of a namespace on a locked thread, which ends with its
// goroutine. A device belongs to the namespace of the thread that opened it.
func openTun(namespace string) (*os.File, error) {
	type result struct {
		tun *os.File
		err error
	}
	made := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends
		tun, err := enterAndOpen(filepath.Join("/run/netns", namespace))
		made <- result{tun, err}
	}()
	r := <-made
	return r.tun, r.err
}

func enterAndOpen(namespace string) (*os.File, error) {
	at, err := os.Open(namespace)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	if err := unix.Setns(int(at.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("enter %s: %w", namespace, err)
	}
	const device = "/dev/net/tun"
	fd, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: device, Err: err}
	}
	request, err := unix.NewIfreq(tunName)
	if err == nil {
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the device %s: %w", tunName, err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), device), nil
}

// newCompanyOfHosts returns a company whose hub and workers have separate hosts. The last digit of
// a worker's name is its host.
func newCompanyOfHosts(t *testing.T, n *network, hubArgs ...string) *company {
	t.Helper()
	c := makeCompany(t)
	at := n.address(hubHost) + ":4222"
	c.hubArgs = append(append(c.hubArgs, "--listen", at, "--advertise", at), hubArgs...)
	c.place = func(cmd *exec.Cmd) {
		host := hubHost
		if i := slices.Index(cmd.Args, "--dir"); i >= 0 {
			folder := cmd.Args[i+1]
			host = int(folder[len(folder)-1] - '0')
		}
		n.on(host, cmd)
	}
	t.Cleanup(c.end)
	c.startHub()
	return c
}
