import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { minVersion, satisfies } from 'semver'

const ROOT = resolve(import.meta.dirname, '..')

interface Lockfile {
  readonly packages: Readonly<
    Record<string, { readonly version?: string; readonly engines?: { readonly node?: string } }>
  >
}

test('every package of the lockfile accepts the oldest Node that may install the repository', () => {
  const { packages } = JSON.parse(
    readFileSync(resolve(ROOT, 'package-lock.json'), 'utf8'),
  ) as Lockfile
  const oldest = minVersion(packages['']?.engines?.node ?? '')
  assert.equal(oldest?.major, 20)
  // The last release of that version, which has all of its security fixes.
  const rejecting = Object.entries(packages).filter(
    ([, { engines }]) => engines?.node !== undefined && !satisfies('20.20.2', engines.node),
  )
  assert.deepEqual(
    rejecting.map(([path, { version, engines }]) => `${path} ${version}: ${engines?.node}`),
    [],
  )
})

test('every npm script starts with a launcher that finds the pinned Node, or is a program of a package', () => {
  const { devDependencies, scripts } = JSON.parse(
    readFileSync(resolve(ROOT, 'package.json'), 'utf8'),
  ) as Record<'devDependencies' | 'scripts', Record<string, string>>
  const programs = Object.keys(devDependencies).flatMap((name) => {
    const { bin = {} } = JSON.parse(
      readFileSync(resolve(ROOT, 'node_modules', name, 'package.json'), 'utf8'),
    ) as { bin?: string | Record<string, string> }
    return typeof bin === 'string' ? [name] : Object.keys(bin)
  })
  // npm runs "node" with its own Node where it has not linked the pinned one, as npm 10 does.
  const others = Object.entries(scripts).filter(
    ([, script]) =>
      !/^node (?:scripts\/run|packages\/service\/bin\/bonded)\.js /.test(script) &&
      !programs.includes(script.split(' ')[0] ?? ''),
  )
  assert.deepEqual(others, [])
})
