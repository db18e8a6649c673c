import { execFileSync } from 'node:child_process'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '..')
/** What installs the packages, first what the container image and the tarball for Linux have. */
const PLACES = ['service', 'sandbox', 'ciba', 'console']

interface Component {
  readonly 'bom-ref': string
  readonly licenses?: readonly {
    readonly license?: { readonly id?: string; readonly name?: string }
    readonly expression?: string
  }[]
}

/** The body of `docs/reference/licenses.md`: the license of each package that is installed. */
export function licensesPage(): string {
  const places = new Map<string, { component: Component; place: string }>()
  for (const place of PLACES)
    for (const component of componentsOf(place)) {
      const ref = component['bom-ref']
      if (!ref.startsWith('@bonded/') && !places.has(ref)) places.set(ref, { component, place })
    }
  const rows = Array.from(places, ([ref, { component, place }]) => {
    const index = ref.lastIndexOf('@')
    return `| \`${ref.slice(0, index)}\` | ${ref.slice(index + 1)} | ${licenseOf(component)} | ${place} |`
  }).toSorted()
  return `# Licenses\n\nThe packages of this repository have the [Apache License 2.0](../../LICENSE). They install the packages of others below, in these or newer versions. \`service\` means that the container image and the tarball for Linux have the package; \`sandbox\`, \`ciba\` and \`console\`, that only \`@bonded/sandbox\`, \`@bonded/ciba\` or \`@bonded/console\` installs it.\n\nThe [bill of materials](../guides/for-your-audit.md#bill-of-materials) of each package, of the image, and of the tarball repeats the license of each part. The image also has Node, whose license is MIT, and Debian packages, whose licenses are in \`/usr/share/doc\` of the image. The tables of look-alikes are made from files of Unicode and of CLDR, which have the [Unicode License v3](https://www.unicode.org/license.txt), and from the package \`tlds\`, whose license is MIT.\n\n| package | version | license | installed with |\n|---|---|---|---|\n${rows.join('\n')}\n`
}

function componentsOf(name: string): readonly Component[] {
  const script = join(ROOT, 'deploy/sbom.mjs')
  const options = { encoding: 'utf8', maxBuffer: 2 ** 26 } as const
  const bill = JSON.parse(execFileSync(process.execPath, [script, name], options)) as {
    readonly components: readonly Component[]
  }
  return bill.components
}

function licenseOf({ licenses = [], ...component }: Component): string {
  const ids = licenses.map(({ license, expression }) => expression ?? license?.id ?? license?.name)
  if (ids.length === 0 || ids.includes(undefined))
    throw new Error(`${component['bom-ref']} has no license in package-lock.json`)
  return ids.join(', ')
}
