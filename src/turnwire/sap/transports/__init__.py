"""The four transports of SAP (section 10): thin and replaceable, since ``turnwire.sap.agent.Agent`` does the work."""
