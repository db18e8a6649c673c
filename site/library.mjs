import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Application } from 'typedoc'

/**
 * Writes the library reference as Markdown: a file for each module that a package exports. Has its
 * own TypeScript, because typedoc does not support the one of the repository.
 *
 * usage: node library.mjs REPOSITORY FOLDER PACKAGE...
 */
const [root = '', out = '', ...packages] = process.argv.slice(2)

/** Recordings for tests. */
const LEFT_OUT = ['./samples']

/** The exported modules, by the file of their sources. */
const modules = new Map(
  packages.flatMap((name) => {
    const folder = join(root, 'packages', name)
    const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    return Object.entries(exports)
      .filter(([path]) => !LEFT_OUT.includes(path))
      .map(([path, { '@bonded/source': source }]) => [
        resolve(folder, source),
        `@bonded/${name}${path.slice(1)}`,
      ])
  }),
)
const tsconfig = resolve(out, '../library.tsconfig.json')
writeFileSync(
  tsconfig,
  JSON.stringify({
    extends: join(root, 'tsconfig.base.json'),
    compilerOptions: {
      lib: ['es2024', 'dom', 'esnext.disposable'],
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
    },
    files: [...modules.keys()],
  }),
)

const app = await Application.bootstrapWithPlugins({
  entryPoints: [...modules.keys()],
  tsconfig,
  basePath: root,
  plugin: ['typedoc-plugin-markdown'],
  disableGit: true,
  sourceLinkTemplate:
    'https://github.com/bonded-sessions/bonded-sessions/blob/main/packages/{path}#L{line}',
  excludePrivate: true,
  excludeInternal: true,
  excludeExternals: true,
  skipErrorChecking: true,
  readme: 'none',
  logLevel: 'Warn',
  validation: false,
})
// Plugin options are declared only once the plugin is loaded.
for (const [name, value] of Object.entries({
  router: 'module',
  entryFileName: 'index',
  hideBreadcrumbs: true,
  hidePageHeader: true,
  useCodeBlocks: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  propertyMembersFormat: 'table',
  expandParameters: true,
  excludeScopesInPaths: true,
  tableColumnSettings: {
    hideSources: true,
    hideInherited: true,
    hideModifiers: true,
    hideOverrides: true,
  },
}))
  app.options.setValue(name, value)

const project = await app.convert()
if (project === undefined) throw new Error('typedoc could not read the sources')
for (const module of project.children ?? [])
  module.name = modules.get(resolve(root, module.sources?.[0]?.fullFileName ?? '')) ?? module.name
await app.outputs.writeOutput({ name: 'markdown', path: out }, project)
