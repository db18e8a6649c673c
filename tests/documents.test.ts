import assert from 'node:assert/strict'
import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize, resolve } from 'node:path'
import { test } from 'node:test'
import { bondedProgram } from '../packages/service/src/program.ts'
import { SETTINGS } from '../packages/server/src/settings/settings.ts'
import { FUZZ_INPUTS } from '../packages/attestation/tests/harness/fuzz.ts'
import { repositoryFiles } from '../scripts/repository-files.ts'
import { TIERS } from '../scripts/tiers.ts'

const ROOT = resolve(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** Every document of the repository, including those not yet committed. */
const documents = repositoryFiles().filter((path) => path.endsWith('.md'))
/** The README loads fast with such images. CONTRIBUTING.md says how to write them again. */
const MAX_IMAGE_BYTES = 120_000
/** All commands, as `bonded` runs them. */
const BONDED = await bondedProgram()
const architecture = read('ARCHITECTURE.md')
/** The documents whose commands a reader types in. */
const MANUALS = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...documents.filter((path) => path.startsWith('docs/guides/')),
]

test('every relative link in a document leads to an existing file', () => {
  assert.ok(documents.length > 10, 'the documents were found')
  const broken = documents.flatMap((path) => {
    const prose = read(path).replaceAll(/^```[\s\S]*?^```/gm, '')
    const targets = [...prose.matchAll(/\]\(([^)\s]+)(?: "[^"]*")?\)/g)].map(([, target = '']) =>
      decodeURI(target.split('#', 1)[0] ?? ''),
    )
    const relative = targets.filter(
      (target) => target !== '' && !/^[a-z][a-z0-9+.-]*:/.test(target),
    )
    return relative
      .filter((target) => !existsSync(resolve(ROOT, dirname(path), target)))
      .map((target) => `${path} links to ${target}`)
  })
  assert.deepEqual(broken, [])
})

test('every image is small and shown by a document, and every shown image exists', () => {
  const images = globSync('docs/images/*', { cwd: ROOT }).toSorted()
  assert.ok(images.length > 2, 'the images were found')
  for (const image of images)
    assert.ok(statSync(join(ROOT, image)).size < MAX_IMAGE_BYTES, `${image} is too large`)
  const shown = documents.flatMap((path) =>
    [...read(path).matchAll(/!\[[^\]]+\]\(([^):]+)\)/g)].map(([, target = '']) =>
      normalize(join(dirname(path), target)),
    ),
  )
  assert.deepEqual([...new Set(shown)].toSorted(), images)
})

test('every column of a table has a heading', () => {
  const unnamed = documents.flatMap((path) =>
    [...read(path).matchAll(/^(\|.*)\n\|(?:\s*:?-+:?\s*\|)+$/gm)].flatMap(([, heading = '']) =>
      /\|\s*\|/.test(heading) ? [`${path}: ${heading}`] : [],
    ),
  )
  assert.deepEqual(unnamed, [])
})

test('every path in ARCHITECTURE.md exists', () => {
  const named = [
    ...architecture.matchAll(/`((?:packages|examples|docs|scripts|bench|proofs|tests)\/[^`\s]*)`/g),
  ].map(([, path = '']) => path)
  assert.ok(named.length > 20, 'the paths were found')
  const missing = named.filter(
    (path) => globSync(path.replace(/\/$/, ''), { cwd: ROOT }).length === 0,
  )
  assert.deepEqual(missing, [])
})

test('ARCHITECTURE.md names every package and every layer of the service', () => {
  const layered = ['core', 'store', 'server'].map((name) => `packages/${name}/src`)
  const folders = ['packages', ...layered].flatMap((parent) =>
    readdirSync(join(ROOT, parent), { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [`${parent}/${entry.name}`] : [],
    ),
  )
  const unnamed = folders.filter((folder) => !architecture.includes(`\`${folder}\``))
  assert.deepEqual(unnamed, [])
})

test('ARCHITECTURE.md names every folder of the repository', () => {
  const folders = new Set(repositoryFiles().flatMap((file) => /^(\w[^/]*)\//.exec(file)?.[1] ?? []))
  assert.ok(folders.has('packages'), 'the folders were found')
  const unnamed = [...folders].filter((folder) => !architecture.includes(`\`${folder}\``))
  assert.deepEqual(unnamed, [])
})

test('the reference names every setting', () => {
  const reference = read('docs/reference/configuration.md')
  const missing = SETTINGS.filter(
    ({ name, key }) => !reference.includes(`\`${name}\``) || !reference.includes(`\`${key}\``),
  )
  assert.deepEqual(missing, [])
})

test('every npm script in a manual exists', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const OF_NPM = ['ci', 'init', 'install']
  const unknown = commandsOfManuals(/\bnpm (?:run )?([a-z][a-z0-9:-]*)/g).filter(
    ([, name = '']) => !(name in scripts) && !OF_NPM.includes(name),
  )
  assert.deepEqual(
    unknown.map(([command]) => command),
    [],
  )
})

test('CONTRIBUTING.md lists the scripts of all tests and benchmarks', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  // .ci/run alone calls the sum of the totals.
  const listed = Object.keys(scripts).filter(
    (name) => /^(?:test|bench)\b/.test(name) && name !== 'test:totals',
  )
  const manual = read('CONTRIBUTING.md')
  const missing = listed.filter((name) => !new RegExp(`npm (?:run )?${name}\``).test(manual))
  assert.deepEqual(missing, [])
})

test('every count of tiers in a document is that of scripts/tiers.ts, and the count of fuzzed inputs is that of the fuzzer', () => {
  const NUMBERS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven']
  const counts = documents.flatMap((path) =>
    [...read(path).matchAll(/\b(\w+) tiers\b/g)].flatMap(([, word = '']) =>
      NUMBERS.includes(word) ? [[path, NUMBERS.indexOf(word)]] : [],
    ),
  )
  assert.ok(counts.length > 0, 'the counts were found')
  for (const [path, count] of counts) assert.equal(count, TIERS.length, String(path))
  const [, inputs] = /inputs per verifier \(([\d,]+)\)/.exec(read('CONTRIBUTING.md')) ?? []
  assert.equal(Number(inputs?.replace(',', '')), FUZZ_INPUTS)
})

test('.ci/run calls the test command of the README, and installs the programs that tests skip without', () => {
  const script = read('.ci/run') + read('.ci/install')
  assert.match(read('README.md'), /\bnpm test\b/)
  for (const check of ['test', 'test:gate'])
    assert.match(script, new RegExp(`^check ${check}$`, 'm'))
  const sources = globSync('{tests,packages/*/tests,examples/*/tests,proofs/tests}/**/*.ts', {
    cwd: ROOT,
  })
  // Messages of skipped tests name the package to install. scripts/test.ts installs Chromium.
  const named = sources.flatMap((path) =>
    [...read(path).matchAll(/apt-get install ([a-z][a-z-]+[a-z])/g)].map(([, name = '']) => name),
  )
  assert.ok(named.includes('firefox-esr'), 'the messages were found')
  const missing = named.filter(
    (name) => name !== 'chromium' && !script.includes(name.replace(/-client$/, '')),
  )
  assert.deepEqual(missing, [])
})

test('every bonded command in a manual exists, with its options', () => {
  const commands = commandsOfManuals(/(?:^|npx )bonded((?: +[^\s#|&;)]+)+)/gm).map(
    ([, rest = '']) => rest.trim().split(/ +/),
  )
  assert.ok(commands.length > 3, 'the test finds the commands')
  for (const words of commands) {
    const path: string[] = []
    for (const word of words) {
      const { subcommands } = helpOf(path)
      if (subcommands.length === 0 || word.startsWith('-')) break
      assert.ok(
        subcommands.includes(word),
        `bonded ${words.join(' ')}: unknown command ${[...path, word].join(' ')}`,
      )
      path.push(word)
    }
    const { options } = helpOf(path)
    // What follows two dashes are the words of another command.
    const own = words.includes('--') ? words.slice(0, words.indexOf('--')) : words
    for (const option of own.filter((word) => word.startsWith('--')))
      assert.ok(options.includes(option), `bonded ${path.join(' ')} does not accept ${option}`)
    if (words.some((word) => word.startsWith('http://localhost')) && path[0] === 'tenant')
      assert.ok(words.includes('--demo'), `bonded ${words.join(' ')} is rejected without --demo`)
  }
})

/**
 * Finds matches in the code of the manuals. A line that ends with a backslash continues on the
 * next.
 */
function commandsOfManuals(pattern: RegExp): readonly RegExpMatchArray[] {
  const code = MANUALS.flatMap((path) => {
    const text = read(path).replaceAll(/\\\n\s*/g, '')
    const blocks = [...text.matchAll(/^ *```\w*\n([\s\S]*?)^ *```/gm)].map(
      ([, block = '']) => block,
    )
    const spans = [...text.replaceAll(/^ *```[\s\S]*?^ *```/gm, '').matchAll(/`([^`\n]+)`/g)].map(
      ([, span = '']) => span,
    )
    return [...blocks, ...spans]
  })
  return code.flatMap((piece) => [...piece.matchAll(pattern)])
}

interface Help {
  /** With the settings, which the help of most commands does not list. */
  readonly options: readonly (string | undefined)[]
  readonly subcommands: readonly string[]
}

/** The options of a command, and the commands below it. */
function helpOf(path: readonly string[]): Help {
  const command = path.reduce<typeof BONDED | undefined>(
    (parent, name) => parent?.commands.find((child) => child.name() === name),
    BONDED,
  )
  assert.ok(command, path.join(' '))
  return {
    options: ['--help', ...command.options.map(({ long }) => long)],
    subcommands: command.commands.map((child) => child.name()),
  }
}
