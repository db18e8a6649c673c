// The health check of the image, which has no shell: healthcheck.mjs [PORT] [PATH]. Exits with 0 if
// the service is ready, or the part that listens on the port is alive.
import process from 'node:process'

const { BONDED_PORT = '8787' } = process.env
const [port = BONDED_PORT, path = '/health/ready'] = process.argv.slice(2)
const response = await fetch(`http://127.0.0.1:${port}${path}`, {
  signal: AbortSignal.timeout(2_500),
}).catch(() => undefined)
process.exit(response?.ok === true ? 0 : 1)
