import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { backendAdapter } from './adapters/backend.ts'
import { report, type Result } from './src/cases.ts'
import { runPhone } from './src/phone/cases.ts'
import { runService } from './src/service/cases.ts'
import { runVerifier, VECTORS } from './src/verifier.ts'

const USAGE = `Usage: node . TARGET
  phone ADAPTER
  verifier ADAPTER [FILE ...]
  service ORIGIN [ADAPTER]

ADAPTER is the address of a control adapter, which README.md describes.
FILE is one of ${VECTORS.join(', ')}.
Without ADAPTER, sessions of ORIGIN are created with the credential in BONDED_SERVER_CREDENTIAL.
`
const STDOUT = 1

/** Undefined if the arguments are not those of a target. */
async function run(
  kind = '',
  address = '',
  ...more: string[]
): Promise<readonly Result[] | undefined> {
  const [adapter] = more
  const credential = process.env['BONDED_SERVER_CREDENTIAL']
  if (address === '') return undefined
  if (kind === 'phone') return runPhone(address)
  if (kind === 'verifier') return runVerifier(address, adapter === undefined ? VECTORS : more)
  if (kind !== 'service') return undefined
  const origin = address.replace(/\/$/, '')
  if (adapter !== undefined) return runService({ origin, adapter })
  if (credential === undefined) return undefined
  const server = await backendAdapter(origin, credential)
  const { port } = server.address() as AddressInfo
  const results = await runService({ origin, adapter: `http://127.0.0.1:${port}` })
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
  return results
}

const results = await run(...process.argv.slice(2))
// A target of which nothing was tried keeps no rule.
const keepsAll = results?.length && results.every(({ failure }) => failure === undefined)
process.exitCode = results === undefined ? 2 : keepsAll ? 0 : 1
writeFileSync(STDOUT, results === undefined ? USAGE : `${report(results).join('\n')}\n`)
