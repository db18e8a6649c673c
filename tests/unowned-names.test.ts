import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { repositoryFiles } from '../scripts/repository-files.ts'

const ROOT = resolve(import.meta.dirname, '..')
const documents = repositoryFiles().filter(
  (path) => path.endsWith('.md') && !/CHANGELOG\.md$|^docs\/(?:decisions|reference)\//.test(path),
)

/** Commands that fetch a package by a name that the project does not own. */
const FETCHED =
  /\b(?:pip|pipx|uv|poetry)\S* (?:-\S+ )*(?:install|run|add) (?:-\S+ )*bonded\b|\buvx bonded\b|\b(?:npm|pnpm|yarn|bun) (?:-\S+ )*(?:install|i|add|exec|create|dlx) (?:-\S+ )*@?bonded\b|\bnpx (?:-\S+ )*(?:bonded@|@bonded\/)/

/** The command where it is installed: `npx` then runs that one, and fetches none. */
const LOCAL = /\bnpx bonded\b/
/** What tells a reader where it is installed. */
const PLACE =
  /#1-install\)|in (?:this|the) repository|on the machine (?:of|and with the settings of) the service/i

const fetched = (text: string) => FETCHED.test(text)
const misplaced = (text: string) =>
  LOCAL.test(text) && !PLACE.test(text.slice(0, text.search(LOCAL) + 200))

test('no page fetches a package by a name that the project does not own', () => {
  const found = documents.filter((path) => fetched(readFileSync(join(ROOT, path), 'utf8')))
  assert.deepEqual(found, [])
})

test('every page says where `bonded` is installed before it prints `npx bonded`', () => {
  const found = documents.filter((path) => misplaced(readFileSync(join(ROOT, path), 'utf8')))
  assert.deepEqual(found, [])
})

test('the check finds the commands that fetch, and none that does not', () => {
  for (const command of [
    'pip install bonded',
    'python3 -m pip install --upgrade bonded',
    'pip3 install bonded[sync]',
    'pipx run bonded',
    'uvx bonded try',
    'uv add bonded',
    'npm install @bonded/integrator',
    'npm i -D bonded',
    'pnpm dlx bonded',
    'npx bonded@latest try',
    'npx -y @bonded/service serve',
  ])
    assert.ok(fetched(command), command)
  for (const command of [
    'python3 -m pip install ./packages/python',
    'npm install ~/bonded-packages/*.tgz',
    'npx bonded serve',
    'bonded tenant create',
  ])
    assert.ok(!fetched(command), command)
  assert.ok(misplaced('Then run:\n\nnpx bonded serve\n'))
  assert.ok(!misplaced('Run it in this repository:\n\nnpx bonded serve\n'))
})
