// The page that shows the widget, its script, and the headers of the page.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

const { BONDED_ORIGIN, BONDED_PUBLISHABLE_KEY, PORT } = process.env

const read = (name) => readFileSync(join(import.meta.dirname, name), 'utf8')

export const page = () =>
  read('page.html')
    .replaceAll('{{origin}}', BONDED_ORIGIN)
    .replaceAll('{{publishable_key}}', BONDED_PUBLISHABLE_KEY)
export const script = () => read('page.js')
const socket = BONDED_ORIGIN?.replace(/^http/, 'ws')
export const pageHeaders = {
  'content-security-policy': `default-src 'none'; script-src 'self' ${BONDED_ORIGIN}; connect-src 'self' ${BONDED_ORIGIN} ${socket}; img-src ${BONDED_ORIGIN} data:; style-src-attr 'unsafe-inline'; frame-ancestors 'none'`,
}
console.log(`The form will be at http://localhost:${PORT}`)
