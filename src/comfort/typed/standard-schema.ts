/**
 * Validators with the interface "Standard Schema" (standardschema.dev, version 1), as of zod,
 * valibot and arktype. No validator is a dependency: only the property `~standard` is used.
 */
import { types } from 'node:util'
import { checkFunction, readArguments, shown } from '../../base/arguments.js'
import { CellarError, ErrorCode, invalidArgument } from '../../base/errors.js'

/** A validator, as of zod or valibot. */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** The interface of Standard Schema. */
  readonly '~standard': {
    /** 1. */
    readonly version: 1
    /** Name of the library. */
    readonly vendor: string
    /** Returns the value to store, or the issues of the given one. Promises are refused. */
    readonly validate: (value: unknown) => unknown
    /** Only types. */
    readonly types?:
      | {
          /** The type of given values. */
          readonly input: Input
          /** The type of stored values. */
          readonly output: Output
        }
      | undefined
  }
}

/** The type that callers give. */
export type SchemaInput<S> = S extends StandardSchema<infer I, unknown> ? I : never
/** The type that is stored and read. */
export type SchemaOutput<S> = S extends StandardSchema<never, infer O> ? O : never

interface Outcome {
  readonly value?: unknown
  readonly issues?: readonly { readonly message: string; readonly path?: readonly unknown[] }[]
}

/** Checks that a value is a validator. `ERR_INVALID_ARGUMENT`. */
export function checkSchema(schema: unknown, what: string): StandardSchema {
  return readArguments(() => {
    const standard = (schema as Partial<StandardSchema> | null | undefined)?.['~standard']
    if (standard?.version === 1) {
      checkFunction(standard.validate, `the validate of ${what}`)
      return schema as StandardSchema
    }
    throw invalidArgument(
      `${what} must be a validator with '~standard', such as z.string() of zod, got ${shown(schema)}`,
    )
  })
}

/**
 * The value that a validator makes of a value. `ERR_INVALID_ARGUMENT` with all that the validator
 * finds wrong; `what` names the value.
 */
export function validated(schema: StandardSchema, value: unknown, what: string): unknown {
  const outcome = readArguments(() => schema['~standard'].validate(value)) as Outcome
  if (types.isPromise(outcome)) {
    outcome.catch(() => undefined)
    throw invalidArgument(`the validator of ${what} is asynchronous; give one without promises`)
  }
  if (outcome.issues === undefined) return outcome.value
  const found = outcome.issues.map(({ message, path = [] }) => {
    const place = path.map((step) => String((step as { key?: unknown }).key ?? step)).join('.')
    return place === '' ? message : `${place}: ${message}`
  })
  const message = `${what} is refused by its validator: ${found.join('; ')}`
  throw new CellarError(ErrorCode.invalidArgument, message, { cause: outcome.issues })
}
