import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { findPython, runPython } from './python.ts'

const PACKAGE = resolve(import.meta.dirname, '..')

const builder = findPython('cryptography', 'httpx', 'hatchling', 'pip')
test('the wheel and the sdist are built, install, and have the types and every module', {
  skip: 'skip' in builder && builder.skip,
}, (t) => {
  assert.ok('python' in builder)
  const folder = mkdtempSync(join(tmpdir(), 'bonded-wheel-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const source = join(folder, 'source')
  cpSync(PACKAGE, source, { recursive: true, filter: (path) => !/__pycache__|\/tests$/.test(path) })
  const run = (cwd: string, ...args: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync(builder.python, args, { cwd, encoding: 'utf8' })
    assert.equal(status, 0, stdout + stderr)
  }
  run(source, '-m', 'hatchling', 'build')
  const built = globSync('dist/bonded-*', { cwd: source }).toSorted()
  assert.deepEqual(built, ['dist/bonded-0.1.0-py3-none-any.whl', 'dist/bonded-0.1.0.tar.gz'])
  // The wheel of the sdist is the one that a packager builds.
  run(folder, '-m', 'tarfile', '-e', join(source, 'dist/bonded-0.1.0.tar.gz'), folder)
  const unpacked = join(folder, 'bonded-0.1.0')
  run(unpacked, '-m', 'hatchling', 'build', '-t', 'wheel')
  const wheel = join(unpacked, 'dist/bonded-0.1.0-py3-none-any.whl')
  const target = join(folder, 'installed')
  const offline = [
    '--no-index',
    '--no-deps',
    '--no-compile',
    '--disable-pip-version-check',
    '--quiet',
  ]
  run(folder, '-m', 'pip', 'install', ...offline, '--target', target, wheel)
  const files = globSync('bonded/*', { cwd: target, exclude: (path) => /__pycache__/.test(path) })
  const expected = globSync('src/bonded/*', {
    cwd: PACKAGE,
    exclude: (path) => /__pycache__/.test(path),
  }).map((path) => path.replace('src/', ''))
  assert.deepEqual(files.toSorted(), expected.toSorted())
  assert.ok(files.includes('bonded/py.typed'))
  const program = 'import bonded; print(bonded.__file__, bonded.binding_digest({}))'
  const { printed } = runPython(builder.python, ['-c', program], { PYTHONPATH: target })
  assert.ok(printed.includes(target), printed)
})

const checker = findPython('cryptography', 'httpx', 'mypy')
test('mypy finds no error in the package in its strict mode', {
  skip: 'skip' in checker && checker.skip,
}, () => {
  assert.ok('python' in checker)
  const cache = mkdtempSync(join(tmpdir(), 'bonded-mypy-'))
  const options = ['--cache-dir', cache, '--config-file', join(PACKAGE, 'pyproject.toml')]
  const { status, stdout, stderr } = spawnSync(
    checker.python,
    ['-m', 'mypy', ...options, join(PACKAGE, 'src/bonded')],
    { encoding: 'utf8' },
  )
  rmSync(cache, { recursive: true, force: true })
  assert.equal(status, 0, stdout + stderr)
})
