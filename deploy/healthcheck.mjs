// The health check of the image, which has no shell. Exits with 0 if the service is ready.
import process from 'node:process'

const port = process.env.BONDED_PORT ?? '8787'
const response = await fetch(`http://127.0.0.1:${port}/health/ready`, {
  signal: AbortSignal.timeout(2_500),
}).catch(() => undefined)
process.exit(response?.ok === true ? 0 : 1)
