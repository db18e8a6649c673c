import { startBank } from './server.ts'

/** A demo starts by hand: one message names everything that is missing. */
const missing = ['BONDED_SERVER_CREDENTIAL', 'BONDED_PUBLISHABLE_KEY'].filter(
  (name) => !process.env[name],
)
if (missing.length > 0) {
  console.error(
    `Set ${missing.join(' and ')}: \`npx bonded tenant create --help\` says how to get both.`,
  )
  process.exit(2)
}

const bank = await startBank({
  port: Number(process.env.BANK_PORT ?? 8788),
  serviceOrigin: process.env.BONDED_SERVICE_ORIGIN ?? 'http://localhost:8787',
  serverCredential: process.env.BONDED_SERVER_CREDENTIAL ?? '',
  publishableKey: process.env.BONDED_PUBLISHABLE_KEY ?? '',
  log: (event) => console.log(JSON.stringify(event)),
})
console.log(`The bank is open: ${bank.url}`)

const close = () => void bank.close().then(() => process.exit(0))
process.once('SIGINT', close)
process.once('SIGTERM', close)
