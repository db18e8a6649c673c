import { type CssNode, type Declaration, parse, walk } from 'css-tree'
import type { Identifier } from '@mdn/browser-compat-data'
import { compatOf, DATA, entriesOf, isSupported } from './support.ts'

/** Units by the names of MDN's data. */
const UNITS: readonly (readonly [RegExp, string])[] = [
  [/^d(?:v[bhiw]|vmin|vmax)$/, 'viewport_percentage_units_dynamic'],
  [/^s(?:v[bhiw]|vmin|vmax)$/, 'viewport_percentage_units_small'],
  [/^l(?:v[bhiw]|vmin|vmax)$/, 'viewport_percentage_units_large'],
  [/^cq/, 'container_query_length_units'],
]

/** What is only less pretty without them: each with its reason. */
const DEGRADES: ReadonlyMap<string, string> = new Map([
  ['text-wrap', 'the last line may be short'],
  ['text-wrap: balance', 'the same'],
  ['text-wrap: pretty', 'the same'],
  ['contain-intrinsic-size', 'Safari below 17: the host has its min-height'],
  ['grid-template-columns: subgrid', 'Chrome below 117: `@supports not` aligns the columns'],
  ['justify-content: safe', 'Safari below 17.6: the content begins at the start'],
  ['cursor', 'phones have no pointer'],
  ['cursor: pointer', 'the same'],
  ['cursor: default', 'the same'],
  ['forced-color-adjust', 'Safari has no forced colors'],
  ['forced-color-adjust: none', 'the same'],
])

/**
 * Checks a style: at-rules, media features, selectors, properties, and the words, functions and
 * units of their values. What is inside `@supports` is not checked, nor are prefixed names.
 *
 * @returns what one of the oldest browsers lacks and needs
 */
export function checkStyles(css: string): readonly string[] {
  const found = new Set<string>()
  const check = (entry: Identifier | undefined, what: string, report = found) => {
    const compat = compatOf(entry)
    if (compat !== undefined && !isSupported(compat) && !DEGRADES.has(what)) report.add(what)
  }
  const { properties, selectors, types, 'at-rules': rules } = DATA.css
  const functions = functionsIn(types, properties)
  const checkDeclaration = ({ property, value }: Declaration) => {
    const report = new Set<string>()
    const known = properties?.[property]
    if (known === undefined) report.add(`${property} (unknown)`)
    check(known, property, report)
    walk(value, (part) => {
      // A list of fonts is one of stand-ins.
      if (part.type === 'Identifier' && property !== 'font-family')
        check(known?.[part.name], `${property}: ${part.name}`, report)
      if (part.type === 'Function') check(functions.get(part.name), `${part.name}()`, report)
      if (part.type === 'Dimension')
        for (const [unit, name] of UNITS)
          if (unit.test(part.unit)) check(types?.['length']?.[name], part.unit, report)
    })
    return report
  }
  walk(parse(css), {
    enter(node: CssNode) {
      if (node.type === 'Atrule') {
        if (node.name === 'supports') return walk.skip
        check(rules?.[node.name], `@${node.name}`)
      }
      if (node.type === 'Feature') check(rules?.['media']?.[node.name], `@media (${node.name})`)
      if (node.type === 'PseudoClassSelector') check(selectors?.[node.name], `:${node.name}`)
      if (node.type === 'PseudoElementSelector') check(selectors?.[node.name], `::${node.name}`)
      if (node.type === 'NestingSelector') check(selectors?.['nesting'], '&')
      if (node.type === 'Block') {
        // A declaration that every browser has, or that has a prefix, replaces a newer one.
        const standIns = new Set<string>()
        const declarations = node.children.filter((child) => child.type === 'Declaration')
        for (const { property } of declarations)
          if (property.startsWith('-webkit-')) standIns.add(property.slice('-webkit-'.length))
        for (const declaration of declarations) {
          if (declaration.property.startsWith('-')) continue
          const lacking = checkDeclaration(declaration)
          if (lacking.size === 0) standIns.add(declaration.property)
          else if (!standIns.has(declaration.property)) lacking.forEach((each) => found.add(each))
        }
      }
      return undefined
    },
  })
  return [...found]
}

function functionsIn(...trees: readonly (Identifier | undefined)[]): Map<string, Identifier> {
  const functions = new Map<string, Identifier>()
  const visit = (tree: Identifier | undefined): void => {
    for (const [name, entry] of entriesOf(tree)) {
      if (!functions.has(name)) functions.set(name, entry)
      visit(entry)
    }
  }
  trees.forEach(visit)
  return functions
}
