import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** Serves the built site on this machine, on a free port. */
export async function serveSite(site: string) {
  const astro = join(site, 'node_modules/astro/bin/astro.mjs')
  const { NODE_OPTIONS: _, ...env } = process.env
  const child = spawn(process.execPath, [astro, 'preview', '--port', '0'], {
    cwd: site,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...env, ASTRO_TELEMETRY_DISABLED: '1', NO_COLOR: '1' },
  })
  const origin = await new Promise<string>((resolve, reject) => {
    let printed = ''
    child.stdout.on('data', (chunk) => {
      printed += String(chunk)
      const [found] = /http:\/\/localhost:\d+/.exec(printed) ?? []
      if (found !== undefined) resolve(found)
    })
    child.once('exit', () => reject(new Error(`the site is not served: ${printed}`)))
  })
  return {
    origin,
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.kill()
      await ended
    },
  }
}
