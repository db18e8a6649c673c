/** Elements that draw. None runs code, animates, links, or loads anything. */
const ELEMENTS = new Set(
  `svg g defs symbol use title desc path rect circle ellipse line polyline polygon clipPath mask
  linearGradient radialGradient stop`.split(/\s+/),
)

/** Properties that may be attributes or declarations of `style`. */
const PROPERTIES = new Set(
  `clip-path clip-rule color color-interpolation display fill fill-opacity fill-rule isolation mask
  mask-type mix-blend-mode opacity overflow paint-order shape-rendering stop-color stop-opacity
  stroke stroke-linecap stroke-linejoin stroke-miterlimit stroke-opacity stroke-width
  vector-effect visibility`.split(/\s+/),
)

const ATTRIBUTES = new Set(
  `aria-hidden aria-label aria-labelledby class clipPathUnits cx cy d fr fx fy gradientTransform
  gradientUnits height href id maskContentUnits maskUnits offset pathLength points
  preserveAspectRatio r role rx ry spreadMethod style transform version viewBox width x x1 x2
  xlink:href xml:space xmlns xmlns:xlink y y1 y2`.split(/\s+/),
)

const NAMESPACES: Readonly<Record<string, string | undefined>> = {
  xmlns: 'http://www.w3.org/2000/svg',
  'xmlns:xlink': 'http://www.w3.org/1999/xlink',
}

const FUNCTIONS = new Set(
  'hsl hsla matrix rgb rgba rotate scale skewx skewy translate url'.split(' '),
)

/** Levels of elements. Drawing programs save far fewer. */
const MAX_DEPTH = 32
/** Elements that a browser draws, where each reference counts as a copy of what it refers to. */
const MAX_DRAWN = 5_000

const PROLOG =
  /^\ufeff?<\?xml version=(["'])1\.[01]\1(?: encoding=(["'])utf-8\2)?(?: standalone=(["'])(?:yes|no)\3)?\s*\?>/i
const TOKEN =
  /<!--(?:(?!--)[^])*-->|<(\/?)([\w:-]+)((?:\s+[\w:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>|([^<]+)/y
const ATTRIBUTE = /([\w:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g
const LOCAL_URL = /url\(\s*(["']?)#([\w.:-]+)\1\s*\)/gi

interface Element {
  readonly name: string
  readonly children: Element[]
  /** The ids that it refers to. */
  readonly references: string[]
}

/** What is wrong with an SVG; undefined if it only draws. */
type Problem = string | undefined

/**
 * Reads an SVG by a list of what it may contain: elements, attributes, properties and functions.
 * Returns what is wrong with any other, also with one that is not well-formed, and with one whose
 * references make a browser draw too much.
 */
export function problemOfSvg(text: string): Problem {
  const drawing = text.replace(PROLOG, '').replace(/^\ufeff/, '')
  // An escape or an entity could hide what the rules below look for.
  if (/[&\\]/.test(drawing)) return 'the SVG has an entity or an escape: save it as plain paths'
  const root: Element = { name: '', children: [], references: [] }
  const open = [root]
  const ids = new Map<string, Element>()
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < drawing.length) {
    const at = TOKEN.lastIndex
    const token = TOKEN.exec(drawing)
    if (token === null) return `the SVG is not well-formed at ${excerpt(drawing, at)}`
    const [, closing, name, attributes = '', empty, characters] = token
    const parent = open.at(-1) as Element
    if (characters !== undefined) {
      if (parent === root && characters.trim() !== '') return 'the logo must be a PNG or an SVG'
      continue
    }
    if (name === undefined) continue
    if (!ELEMENTS.has(name))
      return `the SVG has an element ${JSON.stringify(name)}: save it as plain paths`
    if (closing === '/') {
      if (parent.name !== name || attributes !== '' || empty !== '')
        return `the SVG is not well-formed at ${excerpt(drawing, at)}`
      open.pop()
      continue
    }
    if ((parent === root) !== (name === 'svg') || (parent === root && root.children.length > 0))
      return 'the logo must be a PNG or one SVG'
    const element: Element = { name, children: [], references: [] }
    const problem = readAttributes(attributes, { element, ids })
    if (problem !== undefined) return problem
    parent.children.push(element)
    if (empty === '') open.push(element)
    if (open.length > MAX_DEPTH) return 'the SVG has too many levels of elements'
  }
  if (open.length > 1 || root.children.length === 0) return 'the logo must be a PNG or an SVG'
  return drawnBy(root, { ids, counts: new Map() }) > MAX_DRAWN
    ? 'the references of the SVG draw too much, or refer to themselves: save it as plain paths'
    : undefined
}

function readAttributes(
  text: string,
  { element, ids }: { element: Element; ids: Map<string, Element> },
): Problem {
  const seen = new Set<string>()
  for (const [, name = '', double, single] of text.matchAll(ATTRIBUTE)) {
    const value = double ?? single ?? ''
    if (seen.has(name)) return `the SVG has the attribute ${JSON.stringify(name)} twice`
    seen.add(name)
    if (!ATTRIBUTES.has(name) && !PROPERTIES.has(name))
      return `the SVG has an attribute ${JSON.stringify(name)}: save it as plain SVG`
    const problem =
      name === 'style' ? problemOfStyle(value, element) : problemOfValue(name, { value, element })
    if (problem !== undefined) return problem
    if (name !== 'id') continue
    if (ids.has(value)) return `the SVG has the id ${JSON.stringify(value)} twice`
    ids.set(value, element)
  }
  return undefined
}

function problemOfStyle(style: string, element: Element): Problem {
  for (const declaration of style.split(';')) {
    if (declaration.trim() === '') continue
    const [, name, value = ''] = /^\s*([a-z-]+)\s*:([^:]*)$/.exec(declaration) ?? []
    if (name === undefined || !PROPERTIES.has(name))
      return `the SVG has a style ${JSON.stringify(declaration.trim().slice(0, 40))}: save it as plain SVG`
    const problem = problemOfValue(name, { value, element })
    if (problem !== undefined) return problem
  }
  return undefined
}

function problemOfValue(
  name: string,
  { value, element }: { value: string; element: Element },
): Problem {
  if (Object.hasOwn(NAMESPACES, name))
    return value === NAMESPACES[name] ? undefined : 'the SVG has another namespace'
  if (name.endsWith('href')) {
    if (!/^#[\w.:-]+$/.test(value)) return OTHER_RESOURCE
    element.references.push(value.slice(1))
    return undefined
  }
  // No function is read from a text for people, and no resource.
  if (name.startsWith('aria-') || name === 'class' || name === 'id') return undefined
  const rest = value.replaceAll(LOCAL_URL, (_, _quote, id: string) => {
    element.references.push(id)
    return ''
  })
  const functions = [...rest.matchAll(/([\w-]*)\s*\(/g)].map(([, called = '']) =>
    called.toLowerCase(),
  )
  const other = functions.find((called) => !FUNCTIONS.has(called))
  if (other !== undefined) return `the SVG has a function ${JSON.stringify(other)}`
  if (functions.includes('url')) return OTHER_RESOURCE
  return /^[\w\s#%.,+()-]*$/.test(rest)
    ? undefined
    : `the SVG has a value that is not plain: ${JSON.stringify(value.slice(0, 40))}`
}

const OTHER_RESOURCE =
  'the SVG names another resource: only references that begin with # are allowed'

/** Counts the elements that a browser draws for this one. Infinite if it refers to itself. */
function drawnBy(
  element: Element,
  known: { readonly ids: ReadonlyMap<string, Element>; readonly counts: Map<Element, number> },
): number {
  const counted = known.counts.get(element)
  if (counted !== undefined) return counted
  // A reference that leads back here finds this count.
  known.counts.set(element, Number.POSITIVE_INFINITY)
  let drawn = 1
  for (const child of element.children) drawn += drawnBy(child, known)
  for (const id of element.references) {
    const target = known.ids.get(id)
    if (target !== undefined) drawn += drawnBy(target, known)
  }
  known.counts.set(element, drawn)
  return drawn
}

function excerpt(text: string, at: number): string {
  return JSON.stringify(text.slice(at, at + 40))
}
