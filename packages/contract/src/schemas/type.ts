import type {
  Static,
  TArray,
  TBoolean,
  TInteger,
  TLiteral,
  TLiteralValue,
  TNull,
  TNumber,
  TObject,
  TOptional,
  TProperties,
  TSchema,
  TString,
  TUnsafe,
} from 'typebox'

/** Any keyword of JSON Schema beside `type`. */
type Keywords = Readonly<Record<string, unknown>>

/** Optional members. They are recorded outside the schemas, so that these stay plain JSON. */
const optional = new WeakSet()

/**
 * The builders that the contract needs, with the types of typebox. Importing typebox itself would
 * load 370 modules at startup. Its types cost nothing at run time. They have a member that exists
 * only in the type, so each builder casts the plain JSON schema.
 */
export const Type = {
  String: (keywords: Keywords = {}) => ({ type: 'string', ...keywords }) as unknown as TString,
  Number: (keywords: Keywords = {}) => ({ type: 'number', ...keywords }) as unknown as TNumber,
  Integer: (keywords: Keywords = {}) => ({ type: 'integer', ...keywords }) as unknown as TInteger,
  Boolean: (keywords: Keywords = {}) => ({ type: 'boolean', ...keywords }) as unknown as TBoolean,
  Null: () => ({ type: 'null' }) as unknown as TNull,
  Literal: <const V extends TLiteralValue>(value: V) =>
    ({ type: typeof value, const: value }) as unknown as TLiteral<V>,
  Array: <S extends TSchema>(items: S, keywords: Keywords = {}) =>
    ({ type: 'array', items, ...keywords }) as unknown as TArray<S>,
  /** A literal JSON schema with a given type. */
  Unsafe: <T>(schema: object) => schema as unknown as TUnsafe<T>,
  Optional<S extends TSchema>(schema: S): TOptional<S> {
    const copy = { ...schema }
    optional.add(copy)
    return copy as unknown as TOptional<S>
  },
  Object<P extends TProperties>(properties: P, keywords: Keywords = {}): TObject<P> {
    const required = Object.keys(properties).filter((name) => !optional.has(properties[name] ?? {}))
    return {
      type: 'object',
      ...(required.length > 0 ? { required } : {}),
      properties,
      ...keywords,
    } as unknown as TObject<P>
  },
}

export type { Static, TSchema }
