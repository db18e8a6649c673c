import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { after, test } from 'node:test'

const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')
const examples = [...readme.matchAll(/^## (.+)\n[\s\S]*?```ts\n([\s\S]*?)```/gm)]
// Inside the package, so that its dependencies resolve.
const folder = mkdtempSync(join(import.meta.dirname, 'readme-'))
after(() => rmSync(folder, { recursive: true }))

/** What each example prints, as its comments say. */
const PRINTED: Readonly<Record<string, RegExp>> = {
  'App Attest': /counter: 1[\s\S]*receipt_invalid/,
  'Android Key Attestation': /^production false$/m,
  WebAuthn: /^false \{ ok: true, value: \{ counter: 1 \} \}$/m,
  Passports: /^chip\ntrue$/m,
}

test('the README has an example for each of its four parts', () => {
  assert.deepEqual(
    examples.map(([, title]) => title),
    Object.keys(PRINTED),
  )
})

for (const [, title = '', code = ''] of examples) {
  test(`the example of "${title}" runs and prints the output in its comments`, () => {
    const path = join(folder, `${title.replaceAll(' ', '-')}.ts`)
    writeFileSync(path, code)
    const args = ['--conditions=@bonded/source', path]
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    assert.match(stdout, PRINTED[title] ?? /^$/, stderr)
  })
}
