import { Ajv, type ValidateFunction } from 'ajv'
import { CONTRACT_RULES } from './contract-rules.ts'

/** A validator in the form that fastify calls. */
interface RequestValidator {
  (value: unknown): boolean
  errors?: ValidateFunction['errors']
}

const ajv = new Ajv({
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: false,
  allErrors: false,
  // A body with variants is validated against the variant that it names.
  discriminator: true,
  strict: false,
  // Tests validate the schemas.
  validateSchema: false,
  ...CONTRACT_RULES,
})
const compiled = new WeakMap<object, ValidateFunction>()

/**
 * Returns the validator of a request's body, query or headers. It is compiled at the first request
 * and shared by all servers of the process. Compiling all of them takes a third of the service's
 * start time.
 */
export function requestValidator({ schema }: { readonly schema: object }): RequestValidator {
  const validator: RequestValidator = (value) => {
    const validate = compiledOf(schema)
    const isValid = validate(value)
    validator.errors = validate.errors ?? null
    return isValid
  }
  return validator
}

function compiledOf(schema: object): ValidateFunction {
  let validate = compiled.get(schema)
  if (validate === undefined) {
    validate = ajv.compile(schema)
    compiled.set(schema, validate)
  }
  return validate
}
