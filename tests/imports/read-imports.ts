import { parseSync } from 'oxc-parser'

/** One place where a file imports another module. */
export interface Import {
  /**
   * The specifier: `node:fs`, `./worker.ts`, `@bonded/contract`. A trailing `*` marks an unknown
   * rest.
   */
  readonly specifier: string
  /** The syntax of the import. */
  readonly kind: ImportKind
  /** Counted from 1. */
  readonly line: number
}

export type ImportKind =
  | 'import'
  | 'import type'
  | 're-export'
  | 'dynamic import'
  | 'type query'
  | 'require'
  | 'built-in module'
  | 'resolve'
  | 'url'
  | 'worker'
  | 'reference comment'

interface Node {
  readonly type: string
  readonly start: number
  readonly [member: string]: unknown
}

type Found = Omit<Import, 'line'>

/** Replaces a specifier that is known only at run time. The fence rejects it everywhere. */
export const COMPUTED = '(computed)'

/**
 * Returns every module that a source file names, in any syntax: static imports, re-exports, types,
 * `import()`, `require` in each of its forms, `process.getBuiltinModule`, workers, and addresses
 * relative to the file (`new URL(…, import.meta.url)`, `import.meta.resolve`).
 *
 * @throws SyntaxError when the file does not parse
 */
export function readImports(file: string, source: string): readonly Import[] {
  const { program, errors, comments } = parseSync(file, source)
  const [error] = errors
  if (error !== undefined) throw new SyntaxError(`${file}: ${error.message}`)
  const found: { found: Found; start: number }[] = []
  const scope = new RequireNames()
  walk(program as unknown as Node, [], (node, parents) => {
    for (const one of importsOf(node, parents, scope)) found.push({ found: one, start: node.start })
  })
  for (const { value, start } of comments) {
    const [, how, specifier] = /^\/\s*<reference\s+(path|types)=["']([^"']+)/.exec(value) ?? []
    if (specifier !== undefined) {
      const reference = { specifier, kind: 'reference comment' } as const
      found.push({ found: how === 'path' ? besideTheFile(reference) : reference, start })
    }
    // A type in a JSDoc comment of a JavaScript file.
    for (const [, named = ''] of value.matchAll(/import\(\s*["']([^"']+)["']\s*\)/g))
      if (!file.endsWith('.ts'))
        found.push({ found: { specifier: named, kind: 'type query' }, start })
  }
  return found.map(({ found: one, start }) => ({
    ...one,
    line: source.slice(0, start).split('\n').length,
  }))
}

/** The names by which this file calls a loader that `createRequire` returned. */
class RequireNames {
  /** `createRequire`, also under the aliases that the file declares. */
  readonly makers = new Set(['createRequire'])
  readonly loaders = new Set<string>()
}

function importsOf(node: Node, parents: readonly Node[], names: RequireNames): readonly Found[] {
  switch (node.type) {
    case 'ImportDeclaration':
      for (const { imported, local } of (node.specifiers ?? []) as Specifier[])
        if (imported?.name === 'createRequire') names.makers.add(local.name)
      return [named(node.source, node.importKind === 'type' ? 'import type' : 'import')]
    case 'ExportAllDeclaration':
      return [named(node.source, 're-export')]
    case 'ExportNamedDeclaration':
      return node.source === null ? [] : [named(node.source, 're-export')]
    case 'ImportExpression':
      return [named(node.source, 'dynamic import')]
    case 'TSImportType':
      return [named(node.source ?? node.argument, 'type query')]
    case 'TSExternalModuleReference':
      return [named(node.expression, 'require')]
    case 'CallExpression':
      return called(node, names)
    case 'NewExpression':
      return constructed(node)
    case 'Identifier':
      return escaped(node, parents, names)
    case 'VariableDeclarator':
      if (isMaker((node.init as Node | null)?.callee, names))
        names.loaders.add((node.id as { name?: string }).name ?? COMPUTED)
      return []
    default:
      return []
  }
}

interface Specifier {
  readonly imported?: { readonly name?: string }
  readonly local: { readonly name: string }
}

function called({ callee, arguments: args }: Node, names: RequireNames): readonly Found[] {
  const [first] = args as readonly unknown[]
  const made = (callee as Node).type === 'CallExpression' && isMaker((callee as Node).callee, names)
  if (made || isLoader(callee, names)) return [named(first, 'require')]
  const name = memberName(callee) ?? (callee as { name?: string }).name
  if (name === 'getBuiltinModule') return [named(first, 'built-in module')]
  if (isImportMeta((callee as Node).object, 'resolve', callee)) return [named(first, 'resolve')]
  return []
}

function constructed({ callee, arguments: args }: Node): readonly Found[] {
  const [first, base] = args as readonly (Node | undefined)[]
  const name = (callee as { name?: string }).name ?? memberName(callee)
  if (name === 'URL' && base !== undefined && isImportMeta(base.object, 'url', base))
    return [besideTheFile(named(first, 'url'))]
  // The module that creates an address already reports it.
  const isText = first?.type === 'Literal' || first?.type === 'TemplateLiteral'
  return (name === 'Worker' || name === 'SharedWorker') && isText
    ? [besideTheFile(named(first, 'worker'))]
    : []
}

/** An address is relative to its file even without a leading dot. */
function besideTheFile({ specifier, kind }: Found): Found {
  const isRelative = !/^(?:[./(]|[a-z][a-z0-9+.-]*:)/i.test(specifier)
  return { specifier: isRelative ? `./${specifier}` : specifier, kind }
}

/** A loader that is passed on, or stored under another name, can load anything. */
function escaped(node: Node, parents: readonly Node[], names: RequireNames): readonly Found[] {
  const [parent, grandparent] = parents
  const { name } = node as unknown as { name: string }
  const isProperty =
    (parent?.type === 'MemberExpression' && parent.property === node && parent.computed !== true) ||
    (parent?.type === 'Property' && parent.key === node && parent.shorthand !== true)
  if (parent === undefined || isProperty || parent.type.startsWith('ImportSpecifier')) return []
  if (names.makers.has(name)) {
    const isCalled = parent.type === 'CallExpression' && parent.callee === node
    const isUsed =
      isCalled && (grandparent?.callee === parent || grandparent?.type === 'VariableDeclarator')
    return isUsed ? [] : [{ specifier: COMPUTED, kind: 'require' }]
  }
  if (names.loaders.has(name)) {
    const isDeclared = parent.type === 'VariableDeclarator' && parent.id === node
    const isCalled = parent.type === 'CallExpression' && parent.callee === node
    const isResolved = parent.type === 'MemberExpression' && parent.object === node
    return isDeclared || isCalled || isResolved ? [] : [{ specifier: COMPUTED, kind: 'require' }]
  }
  return []
}

function isMaker(callee: unknown, names: RequireNames): boolean {
  const name = memberName(callee) ?? (callee as { name?: string } | undefined)?.name
  return name !== undefined && names.makers.has(name)
}

function isLoader(callee: unknown, names: RequireNames): boolean {
  const { type, name, object } = callee as Node & { name?: string; object?: { name?: string } }
  if (type === 'Identifier') return name === 'require' || names.loaders.has(String(name))
  return memberName(callee) === 'resolve' && object?.name !== undefined && isLoader(object, names)
}

function memberName(callee: unknown): string | undefined {
  const { type, property } = (callee ?? {}) as {
    type?: string
    property?: { name?: string; value?: string }
  }
  return type === 'MemberExpression' ? (property?.name ?? property?.value) : undefined
}

function isImportMeta(object: unknown, property: string, member: unknown): boolean {
  return (object as Node | undefined)?.type === 'MetaProperty' && memberName(member) === property
}

/** The text of a literal; the beginning of a template, with `*` for the rest; or COMPUTED. */
function named(source: unknown, kind: ImportKind): Found {
  const node = source as Node | undefined
  if (node?.type === 'TSLiteralType') return named(node.literal, kind)
  if (node?.type === 'Literal' && typeof node.value === 'string')
    return { specifier: node.value, kind }
  if (node?.type === 'TemplateLiteral') {
    const [head, ...rest] = (node.quasis as { value: { cooked: string } }[]).map(
      ({ value }) => value.cooked,
    )
    if (head !== undefined && head !== '')
      return { specifier: rest.length === 0 ? head : `${head}*`, kind }
  }
  return { specifier: COMPUTED, kind }
}

function walk(
  node: Node,
  parents: readonly Node[],
  visit: (node: Node, parents: readonly Node[]) => void,
): void {
  visit(node, parents)
  const above = [node, ...parents.slice(0, 1)]
  for (const member of Object.values(node))
    for (const child of Array.isArray(member) ? member : [member])
      if (typeof child === 'object' && child !== null && typeof child.type === 'string')
        walk(child as Node, above, visit)
}
