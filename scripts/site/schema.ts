/** The keywords of JSON Schema that the contract uses. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly format?: string
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema | false>>
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly [keyword: string]: unknown
}

/** Bounds, with the unit of their numbers. */
const BOUNDS = [
  ['minimum', 'maximum', ''],
  ['minLength', 'maxLength', ' characters'],
  ['minItems', 'maxItems', ' items'],
  ['minProperties', 'maxProperties', ' members'],
] as const

/** Code in a cell of a table. */
export function code(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('|', '&#124;')
  return `<code>${escaped.replaceAll('{', '&#123;').replaceAll('*', '&#42;').replaceAll('_', '&#95;')}</code>`
}

/** The members of a schema as a table: nested ones by their path. */
export function memberTable(schema: Schema, linkOf: (name: string) => string): string {
  const rows = rowsOf(schema, '', linkOf)
  if (rows.length === 0) return `${describe(schema) || 'An empty object.'}\n`
  return `| member | type | description |\n|---|---|---|\n${rows.join('\n')}\n`
}

function rowsOf(schema: Schema, path: string, linkOf: (name: string) => string): string[] {
  const branches = schema.anyOf ?? schema.oneOf ?? schema.allOf
  if (branches !== undefined) return branches.flatMap((branch) => rowsOf(branch, path, linkOf))
  if (schema.items !== undefined) return rowsOf(schema.items, `${path}[]`, linkOf)
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    if (member === false) return []
    const full = path === '' ? name : `${path}.${name}`
    const presence = schema.required?.includes(name) === false ? 'Optional. ' : ''
    const row = `| ${code(full)} | ${typeOf(member, linkOf)} | ${presence}${describe(member)} |`
    return [row, ...rowsOf(member, full, linkOf)]
  })
}

/** The type in words, with a link to a named schema. */
export function typeOf(schema: Schema, linkOf: (name: string) => string): string {
  if (schema.$ref !== undefined) return linkOf(schema.$ref.split('/').at(-1) ?? '')
  const branches = schema.anyOf ?? schema.oneOf
  if (branches !== undefined) return branches.map((branch) => typeOf(branch, linkOf)).join(' or ')
  if (schema.items !== undefined) return `array of ${typeOf(schema.items, linkOf)}`
  return [schema.type ?? typeof schema.const].flat().join(' or ')
}

function describe(schema: Schema): string {
  const values = schema.enum?.map((value) => code(String(value))).join(', ')
  const parts = [
    schema.description,
    schema.const === undefined ? undefined : `Always ${code(String(schema.const))}.`,
    values && `One of ${values}.`,
    schema.pattern && `Matches ${code(schema.pattern)}.`,
    ...BOUNDS.map(([least, most, unit]) => boundText(schema[least], schema[most], unit)),
    schema.items && describe(schema.items),
  ]
  return parts
    .filter((part) => part)
    .join(' ')
    .replaceAll('\n', ' ')
}

function boundText(least: unknown, most: unknown, unit: string): string | undefined {
  const [from, to] = [least, most].map((bound) => Number(bound).toLocaleString('en-US'))
  if (least !== undefined && most !== undefined)
    return least === most ? `Exactly ${from}${unit}.` : `${from} to ${to}${unit}.`
  if (least !== undefined) return `At least ${from}${unit}.`
  return most === undefined ? undefined : `At most ${to}${unit}.`
}
