import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { loadPulseScript } from '@bonded/widget/script'
import { serveBench } from '../bench-service.ts'

/** The service in its own process, with the widget for the pages of `BENCH_PAGES`. */
const script = await loadPulseScript()
await serveBench({
  hosting: {
    port: await freePort(),
    script: { version: script.version, load: () => Promise.resolve(script) },
    pages: [process.env.BENCH_PAGES ?? ''],
  },
})

/** The public origin names the port, so it is known before the service listens. */
async function freePort(): Promise<number> {
  const holder = createServer()
  await new Promise<void>((done) => holder.listen(0, '127.0.0.1', done))
  const { port } = holder.address() as AddressInfo
  await new Promise((done) => holder.close(done))
  return port
}
