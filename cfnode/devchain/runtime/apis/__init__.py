"""Runtime APIs: `CustomRuntimeApi` and `MonitoringRuntimeApi` by subject, and Substrate's own."""
