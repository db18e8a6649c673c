import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { statedOutput } from '../../packages/attestation/tests/harness/examples.ts'
import { vectorsMissing } from '../../packages/contract/tests/vectors.ts'
import { browserMissing } from '../browser.ts'
import { ASKED, startTrial } from '../harness/trial.ts'
import { walkAgentGuide } from './agent-guide.ts'
import { bundleBytes } from './bundle-size.ts'
import { COMPILER, EmptyFolder, runtimes, succeed, TYPE_ROOTS } from './empty-folder.ts'
import {
  addedLines,
  exampleOf,
  FRAMEWORKS,
  frameworksMissing,
  installProject,
  nextRoutes,
  runProject,
} from './framework-project.ts'
import { childCpuSeconds, typeQuickstart } from './first-hour.ts'
import { walkOpenidGuide } from './openid-guide.ts'
import { compileBlocks } from './typed-blocks.ts'
import { isSupported, recordedPassports, simulatedPassports } from './passports.ts'

const found = runtimes()
const folder = new EmptyFolder()
after(() => folder[Symbol.dispose]())

/** The Node that the repository pins is the newest one that the packages support. */
const NODES = {
  'node-22': found?.['node-22'],
  node: [process.execPath],
}
const OTHERS = { deno: found?.deno, bun: found?.bun }
const skipWithout = (command: readonly string[] | undefined) =>
  command === undefined && 'this runtime cannot be installed here'
const TENANT =
  'tenant create --name Shop --environment sandbox --demo --json --origin http://localhost:8788 --workflow credit_application:submit_application'

for (const [name, command] of Object.entries(NODES))
  test(`installed tarballs serve, bond and verify under ${name}`, {
    skip: skipWithout(command),
  }, async () => {
    const [node = ''] = command ?? []
    await using served = await folder.serve(node)
    const { server_credential } = JSON.parse(
      succeed(served.bonded(...TENANT.split(' '))),
    ) as Credential
    const bond = [node, 'bond.mjs', served.origin, server_credential]
    assert.deepEqual(JSON.parse(succeed(folder.run(bond))), BONDED)
    // The simulated phone of the command line, against the same service.
    const created = await fetch(`${served.origin}/api/v1/sessions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server_credential}` },
    })
    const { universal_link } = (await created.json()) as { universal_link: string }
    const approve = ['phone', 'approve', '--qr', universal_link, '--no-wait']
    assert.match(succeed(served.bonded(...approve)), /Approved/)
    // The prebuilt script: a published package has no bundler.
    const script = await fetch(`${served.origin}/v1/pulse.js`)
    assert.match(await script.text(), /^\/\*! Pulse /)
    const list = await fetch(`${served.origin}/v1/integrity.json`)
    const { files } = (await list.json()) as { files: Record<string, string> }
    for (const path of [...Object.keys(files), script.headers.get('sourcemap') ?? ''])
      assert.equal((await fetch(served.origin + path)).status, 200, path)
    const page = await fetch(`${served.origin}/bond`)
    assert.match(await page.text(), /<script defer src="\/bond\/page-[0-9a-f]{16}\.js"/)
  })

test('installed tarballs show the simulated phone of bonded try, and run what it approves', async (t) => {
  const command = [process.execPath, folder.bin, 'try', '--', 'echo', 'ran']
  const { printed, ended, says, phone } = await startTrial(t, command)
  const { origin, setUp, answer } = await phone()
  const page = await fetch(`${origin}/demo/inbox`)
  assert.match(await page.text(), /<script src="\/demo\/software-key\.js"/)
  const key = await fetch(`${origin}/demo/software-key.js`)
  assert.match(await key.text(), /navigator, 'credentials'/)
  await setUp()
  await says(ASKED)
  await answer('approve')
  assert.deepEqual(await ended, [0, null], printed.stderr)
  assert.equal(printed.stdout, 'ran\n')
})

for (const [name, command] of Object.entries(OTHERS))
  test(`installed tarballs bond and verify under ${name}`, {
    skip: skipWithout(command),
  }, async () => {
    await using served = await folder.serve(process.execPath)
    const { server_credential } = JSON.parse(
      succeed(served.bonded(...TENANT.split(' '))),
    ) as Credential
    const bond = [...(command ?? []), 'bond.mjs', served.origin, server_credential]
    assert.deepEqual(JSON.parse(succeed(folder.run(bond))), BONDED)
  })

for (const [name, command] of Object.entries({ ...NODES, ...OTHERS }))
  test(`installed tarballs verify an attestation under ${name}`, {
    skip: skipWithout(command),
  }, () => {
    const printed = succeed(folder.run([...(command ?? []), 'attest.mjs']))
    assert.deepEqual(JSON.parse(printed), { honest: true, replayed: false })
  })

const PASSPORTS_AT = Date.parse('2026-11-21')
const simulated = simulatedPassports(PASSPORTS_AT)
writeFileSync(join(folder.path, 'simulated.json'), JSON.stringify(simulated))
if (vectorsMissing === false)
  writeFileSync(join(folder.path, 'recorded.json'), JSON.stringify(recordedPassports()))

for (const [name, command] of Object.entries({ ...NODES, ...OTHERS }))
  for (const more of ['', 'brainpool'] as const) {
    const runtime = name as keyof typeof NODES | keyof typeof OTHERS
    const verify = (file: string) =>
      JSON.parse(
        succeed(folder.run([...(command ?? []), 'passports.mjs', file, ...(more ? [more] : [])])),
      ) as Record<string, string>

    test(`installed tarballs verify passports as the README says under ${name} ${more}`, {
      skip: skipWithout(command),
    }, () => {
      const expected = simulated.map(({ name: passport }) => [
        passport,
        isSupported(runtime, passport, more)
          ? 'ok sod_signature'
          : 'algorithm_unsupported algorithm_unsupported',
      ])
      assert.deepEqual(verify('simulated.json'), Object.fromEntries(expected))
    })

    test(`installed tarballs verify recorded passports as the README says under ${name} ${more}`, {
      skip: vectorsMissing || skipWithout(command),
    }, () => {
      for (const [state, verdict] of Object.entries(verify('recorded.json')))
        assert.match(
          verdict,
          isSupported(runtime, state, more) ? /^dg_hash / : /^algorithm_unsupported /,
          state,
        )
    })
  }

const README = readFileSync(join(folder.path, 'node_modules/@bonded/attestation/README.md'), 'utf8')
const examples = [...README.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code = '']) => code)
for (const [index, code] of examples.entries())
  writeFileSync(join(folder.path, `example-${index}.mjs`), code)

for (const [name, command] of Object.entries({ ...NODES, ...OTHERS }))
  test(`the examples of the packed README of @bonded/attestation run under ${name}`, {
    skip: skipWithout(command),
  }, () => {
    assert.ok(examples.length >= 5)
    for (const [index, code] of examples.entries()) {
      const printed = succeed(folder.run([...(command ?? []), `example-${index}.mjs`]))
      assert.deepEqual(printed.trim().split('\n'), statedOutput(code))
    }
  })

const RESOLUTIONS = [
  ['--module', 'nodenext'],
  ['--module', 'esnext', '--moduleResolution', 'bundler'],
]
for (const resolution of RESOLUTIONS)
  test(`the types of installed tarballs resolve with ${resolution.at(-1)}`, () => {
    const usual = ['--ignoreConfig', '--noEmit', '--strict', '--target', 'es2024', ...resolution]
    const compile = [process.execPath, COMPILER, ...usual]
    succeed(folder.run([...compile, 'types.ts', '--types', '']))
    // Node itself resolves these packages.
    if (resolution === RESOLUTIONS[0])
      succeed(
        folder.run([...compile, 'node-types.ts', '--types', 'node', '--typeRoots', TYPE_ROOTS]),
      )
  })

test('the custom element compiles in the JSX of React', () => {
  const modules = join(folder.path, 'node_modules')
  mkdirSync(join(modules, '@types'), { recursive: true })
  for (const name of ['@types/react', 'csstype'])
    symlinkSync(join(TYPE_ROOTS, '..', name), join(modules, name))
  const options = ['--ignoreConfig', '--noEmit', '--strict', '--target', 'es2024', '--types', '']
  const [, bundler = []] = RESOLUTIONS
  const jsx = ['--jsx', 'react-jsx', 'jsx-types.tsx']
  succeed(folder.run([process.execPath, COMPILER, ...options, ...bundler, ...jsx]))
})

test('@bonded/integrator installs alone from its tarball, with its types', () => {
  using alone = folder.alone('integrator')
  assert.deepEqual(readdirSync(join(alone.path, 'node_modules/@bonded')), ['integrator'])
  const printed = succeed(alone.run([process.execPath, 'gate.mjs']))
  assert.deepEqual(JSON.parse(printed), { digest: 43, rejected: ['session_not_ours'] })
  const options = ['--ignoreConfig', '--noEmit', '--strict', '--target', 'es2024', '--types', '']
  const [resolution = []] = RESOLUTIONS
  succeed(alone.run([process.execPath, COMPILER, ...options, ...resolution, 'gate-types.ts']))
})

const skipFrameworks = frameworksMissing()
// The tests of the examples run the files that the quickstart writes for the other frameworks.
test('the quickstart leads from an empty folder to an accepted form', {
  skip: skipFrameworks,
}, async (t) => {
  const startedMs = performance.now()
  const cpuBefore = childCpuSeconds()
  const printed = await typeQuickstart()
  const seconds = Math.round((performance.now() - startedMs) / 1_000)
  const cpu = Math.round(childCpuSeconds() - cpuBefore)
  t.diagnostic(`${seconds} s with downloads; ${cpu} s of CPU time`)
  assert.match(printed, /\{"outcome":"accepted","result":"A-1"\}\s*$/)
})

test('the guide for agents leads to a call that the user approved, which ran once', {
  skip: browserMissing,
}, async (t) => {
  const cpuBefore = childCpuSeconds()
  const walks = await walkAgentGuide(folder)
  const cpu = Math.round(childCpuSeconds() - cpuBefore)
  t.diagnostic(`${cpu} s of CPU time`)
  assert.deepEqual(Object.keys(walks), ['sandbox', 'production'])
  for (const { shown, agent, receipt } of Object.values(walks)) {
    for (const text of ['Invoice agent', '€1250.00', 'DE02 1203 0000 0000 2020 51', '125000'])
      for (const read of [shown, receipt]) assert.ok(read.includes(text), `${text}\n${read}`)
    assert.deepEqual(agent.match(/status: '\w+'|^approval_required/gm), [
      'approval_required',
      "status: 'not_approved'",
      "status: 'sent'",
      "status: 'already_executed'",
    ])
    assert.match(agent, /context_mismatch/)
    assert.match(receipt, /^completed at /)
    assert.match(receipt, /^ {2}for the agent Invoice agent/m)
    assert.match(receipt, /^ +2 +"cents": 125000,$/m)
    assert.match(receipt, /^accepted$/m)
  }
})

test('the guide for OpenID clients leads from an empty folder to a payment that the user approved', {
  skip: skipFrameworks,
}, async () => {
  const { listed, shown, client } = await walkOpenidGuide(folder)
  assert.match(listed, /Invoice agent/)
  assert.match(shown, /Amount: +1250\.00 EUR\n +To: +ACME Ltd\n[^]*Approved/)
  assert.equal(client, 'Paid 1250.00 EUR to ACME Ltd.\nThe token was spent before.\n')
})

for (const framework of ['next', 'vite'] as const)
  test(`the TypeScript of the documents compiles with the settings of ${framework}`, () => {
    succeed(compileBlocks(folder, framework))
  })

test('the packed README brings a gated form into a fresh project of each framework', {
  skip: skipFrameworks,
}, async (t) => {
  await using served = await folder.serve(process.execPath)
  const { server_credential } = JSON.parse(
    succeed(served.bonded(...TENANT.split(' '))),
  ) as Credential
  const env = { ORIGIN: served.origin, CREDENTIAL: server_credential }
  installProject(folder)
  for (const [name, framework] of Object.entries(FRAMEWORKS))
    await t.test(name, () =>
      assert.deepEqual(JSON.parse(succeed(runProject(folder, framework, env))), GATED),
    )
})

test('each example of the README of @bonded/integrator has at most 15 lines of its own', () => {
  const file = join(folder.path, 'node_modules/@bonded/integrator/README.md')
  const readme = readFileSync(file, 'utf8')
  for (const { example, from } of Object.values(FRAMEWORKS)) {
    const routes = from === 'next' ? [...nextRoutes(readme).values()] : []
    const lines = [...addedLines(exampleOf(readme, example)), ...routes]
    assert.ok(lines.length <= 15, `${example}: ${lines.length}`)
    assert.ok(lines.every((line) => line.length <= 100))
  }
})

/**
 * Compressed bytes, a few percent above what a bundle has now. The script of the widget and the
 * phone page have budgets beside their sources. Each entry of the integrator checks the options
 * that its functions require, and describes failures of the service with their cause.
 */
const BUDGET_BYTES = {
  // Of these, the verification of receipts and of their log has about 5 kB.
  // Texts of forms, the rules of display and of policies, and the errors of a gated form. Logs of
  // receipts that were closed, and the links of reasons, have 1.2 kB.
  '@bonded/integrator': 31_500,
  // The gate, and the rules of display with the texts that they look for, have most of it. The
  // look-alikes of ASCII and the top-level labels, which only a backend loads, have 10.5 kB, and
  // their rule 1.5 kB. Approvals by several people have 2.3 kB.
  '@bonded/integrator/approval': 44_500,
  // Without the SDK and zod, which the server has, and the approvals, which it is given.
  // The declaration of a caller, and the refusals of what JSON does not have, have 0.7 kB.
  '@bonded/integrator/mcp': 3_400,
  '@bonded/integrator/mcp2': 3_550,
  '@bonded/phone': 19_100,
  '@bonded/attestation': 38_000,
}
for (const [name, budget] of Object.entries(BUDGET_BYTES))
  test(`a bundle of ${name} stays within ${budget / 1_000} kB gzip`, async (t) => {
    const bytes = await bundleBytes(name, folder.path)
    t.diagnostic(`${name}: ${bytes} B gzip`)
    assert.ok(bytes > 1_000 && bytes <= budget, `${bytes} B`)
  })

const LIBRARIES = ['attestation', 'contract', 'integrator', 'phone', 'simulator', 'widget'].map(
  (name) => `@bonded/${name}`,
)

/** What readers and tools of a registry need, and what is of no use to them. */
for (const tarball of folder.tarballs) {
  const path = join(folder.path, 'tarballs', tarball)
  const manifest = JSON.parse(
    succeed(folder.run(['tar', '-xzOf', path, 'package/package.json'])),
  ) as Manifest

  test(`the manifest of ${tarball} is one for a registry`, () => {
    const { description = '', keywords = [], homepage, repository, engines, license } = manifest
    assert.ok(description.length > 20 && description.length < 120, description)
    assert.ok(keywords.length >= 3)
    assert.match(homepage ?? '', /^https:\/\/.*#readme$/)
    assert.match(repository?.directory ?? '', /^packages\//)
    assert.match(engines?.node ?? '', /^>=22/)
    assert.equal(license, 'Apache-2.0')
    assert.deepEqual([manifest.scripts, manifest.devDependencies], [undefined, undefined])
    assert.doesNotMatch(JSON.stringify(manifest), /@bonded\/source|\/src\//)
    // The service decides its versions itself; the libraries share theirs with their consumers.
    if (LIBRARIES.includes(manifest.name ?? ''))
      for (const [name, range] of Object.entries(manifest.dependencies ?? {}))
        if (!name.startsWith('@bonded/')) assert.match(range, /^\^/, name)
  })
}

test('a dry run of the release names every tarball, each after those that it needs', () => {
  const named = [...folder.released.matchAll(/^would publish (\S+) \d+\.\d kB$/gm)].map(
    ([, name = '']) => name,
  )
  assert.deepEqual(named.toSorted(), folder.tarballs)
  const indexOf = (name: string) => named.findIndex((file) => file.startsWith(`bonded-${name}-0`))
  const [contract, core, server] = ['contract', 'core', 'server'].map(indexOf)
  assert.ok(Number(contract) < Number(core) && Number(core) < Number(server), named.join(' '))
})

test('every package has its own tarball with its license', () => {
  assert.equal(folder.tarballs.length, new Set(folder.tarballs).size)
  for (const tarball of folder.tarballs) {
    const listed = succeed(folder.run(['tar', '-tzf', `tarballs/${tarball}`]))
    assert.match(listed, /^package\/LICENSE$/m, tarball)
    assert.match(listed, /^package\/dist\/.+\.d\.ts$|^package\/bin\/bonded\.js$/m, tarball)
    assert.doesNotMatch(listed, /^package\/(?:src|tests)\//m, tarball)
  }
})

interface Manifest {
  readonly name?: string
  readonly description?: string
  readonly keywords?: readonly string[]
  readonly homepage?: string
  readonly repository?: { readonly directory?: string }
  readonly engines?: { readonly node?: string }
  readonly license?: string
  readonly scripts?: unknown
  readonly devDependencies?: unknown
  readonly dependencies?: Readonly<Record<string, string>>
}

interface Credential {
  readonly server_credential: string
}

const BONDED = {
  shown: [{ label: 'Amount', value: '€12,500' }],
  forged: 'rejected',
  outcome: 'completed',
  phone: 'completed',
}

const GATED = {
  statuses: [401, 403, 200, 403],
  shown: [{ label: 'Amount', value: '€12500' }],
  answer: { outcome: 'accepted', result: 'A-1' },
  saved: [{ amount: 12_500 }],
}
