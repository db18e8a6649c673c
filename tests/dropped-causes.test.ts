import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { droppedCauses } from './dropped-causes.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Handlers that say something else than the failure, with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'packages/cli/src/node/config.ts':
    'A setting that is not valid can be a secret: another command explains it.',
  'packages/phone-page/src/portal/service.ts': 'A browser does not say why a request failed.',
  'packages/server/src/adapters/keys/stored-key.ts':
    'The encryption is authenticated, so the root key differs.',
  'packages/server/src/adapters/signer/receipt-keys.ts':
    'The file is made where it is missing, and read afterwards with an error of its own.',
  'packages/widget/src/arguments.ts':
    'The script has a budget of bytes, and the message names the option and its only fault.',
  'packages/widget/src/npm/load-pulse.ts': 'Only the policy of the page prevents a trusted type.',
}

test('a handler that throws or reports has the failure that it caught', () => {
  const files = globSync(['packages/*/src/**/*.ts', 'examples/*/src/**/*.ts'], {
    cwd: ROOT,
    exclude: (path) => path.includes('node_modules'),
  })
  assert.ok(files.length > 500, 'the sources were found')
  const found = files.flatMap((file) =>
    droppedCauses(file, readFileSync(`${ROOT}/${file}`, 'utf8')).map(
      (line) => [file, line] as const,
    ),
  )
  const unexpected = found.filter(([file]) => EXCEPTIONS[file] === undefined)
  assert.deepEqual(unexpected, [], 'pass the cause on, or describe it with describeFailure')
  const unused = Object.keys(EXCEPTIONS).filter((path) => !found.some(([file]) => file === path))
  assert.deepEqual(unused, [], 'an exception is of no use')
})

test('the check finds each form of a handler that drops its failure, and no other', () => {
  const dropping = [
    "try { f() } catch { throw new Error('It failed.') }",
    "try { f() } catch (error) { throw new TypeError('It failed.') }",
    "try { f() } catch { log.warn('it failed') }",
    "try { f() } catch (error) { return done(500, 'The file cannot be read.') }",
    "f().catch(() => { throw new Error('It failed.') })",
    'f().catch(() => `The file ${name} cannot be read`)',
    "f().then(g, () => reject('failed'))",
    "f().catch(function (error) { process.stderr.write('failed') })",
  ]
  for (const source of dropping)
    assert.deepEqual(droppedCauses('a.ts', `async () => {\n${source}\n}`), [2], source)
  const passing = [
    "try { f() } catch (cause) { throw new Error('It failed.', { cause }) }",
    'try { f() } catch (error) { log.warn({ err: error }, "it failed") }',
    'try { f() } catch ({ code }) { throw new Error(`It failed: ${code}.`) }',
    'try { f() } catch { return undefined }',
    'try { f() } catch {}',
    "try { f() } catch { return 'tls_failed' }",
    "f().catch((error) => reject('It failed.', error))",
    'f().catch(() => {})',
    "f().then(() => { throw new Error('It failed.') }, (error) => explain(error))",
  ]
  for (const source of passing)
    assert.deepEqual(droppedCauses('a.ts', `async () => {\n${source}\n}`), [], source)
})
