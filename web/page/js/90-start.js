document.getElementById('app').textContent = 'AgentCompany Manager Web';
