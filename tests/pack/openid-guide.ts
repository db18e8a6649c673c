import { mkdtempSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'
import { walkGuide } from '../samples/guide.ts'
import { Terminal } from '../samples/terminal.ts'
import { type EmptyFolder, READER } from './empty-folder.ts'

const ROOT = resolve(import.meta.dirname, '../..')

/**
 * Types docs/guides/approve-with-openid.md from an empty folder to a payment. Returns what the
 * inbox and the phone showed, and what the client printed.
 */
export async function walkOpenidGuide(
  packed: Pick<EmptyFolder, 'path'>,
): Promise<Record<'listed' | 'shown' | 'client', string>> {
  const [service, provider, resource] = [await freePort(), await freePort(), await freePort()]
  const values = {
    '8787': String(service),
    '8790': String(provider),
    '8791': String(resource),
    '~/bonded-packages': mkdtempSync(join(packed.path, 'openid-packages-')),
  }
  const env = { ...READER, BONDED_PORT: String(service) }
  const guide = { path: 'docs/guides/approve-with-openid.md', test: import.meta.filename, values }
  return walkGuide(guide, async (next) => {
    await using repository = new Terminal({ folder: ROOT, env })
    await repository.type(next())
    await using terminal = new Terminal({ folder: mkdtempSync(join(packed.path, 'openid-')), env })
    await terminal.type(next())
    await terminal.start(next()).printed(/ready/)
    const [SUBJECT_REF = ''] = (await terminal.type(next())).match(/^[\w-]{43}$/m) ?? []
    terminal.write('new-key.mjs', next())
    const PUBLIC_KEY = await terminal.type(next())
    terminal.write('ciba.yaml', next(), { SUBJECT_REF, PUBLIC_KEY: PUBLIC_KEY.trim() })
    await terminal.start(next()).printed(/ready/)
    terminal.write('resource.mjs', next())
    terminal.start(next())
    terminal.write('client.mjs', next(), { SUBJECT_REF })
    const asking = terminal.start(next())
    const list = next()
    let listed = ''
    // The request is there as soon as the client has asked.
    do listed = await terminal.type(list)
    while (!listed.includes('sess_'))
    const [session = ''] = /sess_\w+/.exec(listed) ?? []
    const shown = await terminal.type(next(), { 'sess_…': session })
    return { listed, shown, client: await asking.ended }
  })
}
