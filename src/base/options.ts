/**
 * Options, declared once: names, types, defaults and checks of an object of options come from one
 * declaration, in which an option is a line.
 *
 * ```ts
 * const poolOptions = declareOptions('a pool', {
 *   // Threads. Default 2.
 *   threads: integer({ min: 1, default: 2 }),
 *   onError: callback<(error: Error) => void>(),
 * })
 * export interface PoolOptions extends OptionsOf<typeof poolOptions> {}
 * const { threads } = poolOptions.read(given)
 * ```
 *
 * The docstrings of the declaration are those of the interface. A given value that is wrong ends in
 * `ERR_INVALID_ARGUMENT`, with the name of the option in the message.
 */
import {
  argumentError,
  checkArray,
  checkChoice,
  checkMethods,
  checkText,
  checkObject,
  shown,
} from './arguments.js'
import { invalidArgument, type CellarError } from './errors.js'
import { meantName, nearestName } from './near-names.js'

/** A JSON schema. One with a `title` is a component of a description, under that name. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** One option: `Given` is the type that callers write, `Read` the type that the code gets. */
export interface Option<Given, Read> {
  /**
   * Returns the value to use. `value` is of any type, and undefined if the option is absent;
   * `name` is that of the option in messages. Throws `ERR_INVALID_ARGUMENT`.
   */
  read(value: unknown, name: string): Read
  /** Describes the value in JSON. Default: any value. */
  readonly schema?: JsonSchema
  /** Only a type: what callers write. */
  readonly given?: Given
}

/** An option that callers must give; made by {@link required}. */
export interface RequiredOption<Given, Read> extends Option<Given, Read> {
  readonly isRequired: true
}

/** Options by name. */
export type Declared = Readonly<Record<string, Option<unknown, unknown>>>

type GivenOf<O> = O extends Option<infer Given, unknown> ? Given : never
type ReadOf<O> = O extends Option<unknown, infer Read> ? Read : never

type RequiredName<D> = { [K in keyof D]: D[K] extends { isRequired: true } ? K : never }[keyof D]
type MayGive<D, K extends keyof D> = { readonly [N in K]?: GivenOf<D[N]> | undefined }
type MustGive<D, K extends keyof D> = { readonly [N in K]: GivenOf<D[N]> }

/** The object that callers write. An option that is undefined counts as absent. */
export type GivenOptions<D extends Declared> = MayGive<D, Exclude<keyof D, RequiredName<D>>> &
  MustGive<D, RequiredName<D>>

/** The object that the code gets: each option with its value or its default. */
export type Settings<D extends Declared> = { readonly [K in keyof D]: ReadOf<D[K]> }

/** The object that callers write, by the type of a declaration. */
export type OptionsOf<O> = O extends Options<infer D> ? GivenOptions<D> : never

/** The object that the code gets, by the type of a declaration. */
export type SettingsOf<O> = O extends Options<infer D> ? Settings<D> : never

/** The declared options of one object; made by {@link declareOptions}. */
export class Options<D extends Declared> {
  private readonly what: string
  private readonly declared: D
  private readonly names: readonly string[]
  /** The names of the object before, in their order. */
  private readonly recent: string[] = []

  /** `what` names the object in messages: 'a get'. */
  constructor(what: string, declared: D) {
    this.what = what
    this.declared = declared
    this.names = Object.keys(declared)
  }

  /**
   * Checks the options and fills in the defaults: for an absent option the value in `base`, or its
   * declared default. The result is a copy, which the caller cannot change. Throws
   * `ERR_INVALID_ARGUMENT`, also for an unknown name.
   */
  read(options: GivenOptions<D>, base: Partial<Settings<D>> = {}): Settings<D> {
    try {
      const given = { ...this.check(options) } as Readonly<Record<string, unknown>>
      const settings: Record<string, unknown> = {}
      for (const name of this.names) {
        const value = given[name]
        const option = this.declared[name]
        if (value !== undefined) settings[name] = option.read(value, name)
        else if (Object.hasOwn(base, name)) settings[name] = base[name]
        else if (!('isRequired' in option)) settings[name] = option.read(value, name)
        else throw invalidArgument(`${this.what} needs the option ${name}`)
      }
      return settings as Settings<D>
    } catch (error) {
      throw argumentError(error)
    }
  }

  /** Describes the object in JSON. */
  get schema(): JsonSchema {
    const { declared, names } = this
    const properties = Object.fromEntries(names.map((name) => [name, declared[name].schema ?? {}]))
    const required = names.filter((name) => 'isRequired' in declared[name])
    return { type: 'object', properties, required, additionalProperties: false }
  }

  /**
   * Checks that a value is an object with known names only, and returns the object: for calls that
   * check the values where they use them.
   */
  check<O extends Partial<GivenOptions<D>>>(options: O): O {
    return this.checkNames(checkObject(options, this.what))
  }

  /**
   * As {@link check}. REQUIRES an object.
   *
   * The objects of a program mostly have the names of the object before, in the same order. So each
   * name is first compared with the name at its place there, at the cost of comparing two pointers.
   */
  checkNames<O extends Partial<GivenOptions<D>>>(options: O): O {
    const { declared, recent } = this
    let place = 0
    for (const name in options) {
      if (name !== recent[place]) {
        if (Object.hasOwn(declared, name)) recent[place] = name
        else if (Object.hasOwn(options, name)) throw this.refusal(name)
      }
      place++
    }
    return options
  }

  /**
   * Refuses an unknown name that resembles a known one, since it is probably a mistake. Other
   * unknown names pass: for objects to which users may add properties of their own.
   */
  checkNear(options: object): void {
    checkObject(options, this.what)
    for (const name of Object.keys(options)) {
      if (Object.hasOwn(this.declared, name)) continue
      if (nearestName(name, this.names) !== undefined) throw this.refusal(name)
    }
  }

  private refusal(name: string): CellarError {
    const near = meantName(name, this.names)
    const rest = near === undefined ? `it has: ${this.names.join(', ')}` : `did you mean '${near}'?`
    return invalidArgument(`unknown option '${name}' of ${this.what}; ${rest}`)
  }
}

/** Declares the options of one object. `what` names the object in messages: 'a get'. */
export function declareOptions<D extends Declared>(what: string, declared: D): Options<D> {
  return new Options(what, declared)
}

/** Bounds of a number, both inclusive, and the value if the option is absent. */
interface NumberRule<Default> {
  readonly min: number
  readonly max?: number
  readonly default: Default
}

function numberOption<Default>(
  type: 'integer' | 'number',
  { min, max = Infinity, default: missing }: NumberRule<Default>,
  accepts: (value: number) => boolean,
): Option<number, number | Default> {
  const kind = type === 'integer' ? 'an integer' : 'a number'
  const bounds = max === Infinity ? `${kind} >= ${min}` : `${kind} from ${min} to ${max}`
  const maximum = max === Infinity ? undefined : max
  return {
    schema: { type, minimum: min, maximum, default: missing },
    read(value, name) {
      if (value === undefined) return missing
      const isRight = typeof value === 'number' && accepts(value) && value >= min && value <= max
      if (isRight) return value
      throw invalidArgument(`option ${name} must be ${bounds}, got ${shown(value)}`)
    },
  }
}

/** An integer. */
export function integer<Default = number>(
  rule: NumberRule<Default>,
): Option<number, number | Default> {
  return numberOption('integer', rule, Number.isSafeInteger)
}

/** A number that may have a fraction, or be infinite. */
export function number<Default = number>(
  rule: NumberRule<Default>,
): Option<number, number | Default> {
  return numberOption('number', rule, (value) => !Number.isNaN(value))
}

/** `true` or `false`. A default that is a function is called at each read. */
export function boolean(missing: boolean | (() => boolean)): Option<boolean, boolean>
export function boolean(missing: undefined): Option<boolean, boolean | undefined>
export function boolean(
  missing: boolean | (() => boolean) | undefined,
): Option<boolean, boolean | undefined> {
  return {
    schema: { type: 'boolean', default: typeof missing === 'function' ? undefined : missing },
    read(value, name) {
      if (value === undefined) return typeof missing === 'function' ? missing() : missing
      if (typeof value === 'boolean') return value
      throw invalidArgument(`option ${name} must be true or false, got ${shown(value)}`)
    },
  }
}

/** A string that UTF-8 can hold. */
export function text<Default = string>(missing: Default): Option<string, string | Default> {
  return {
    schema: { type: 'string', default: missing },
    read: (value, name) => (value === undefined ? missing : checkText(value, `option ${name}`)),
  }
}

/** One of several strings. */
export function choice<const T extends string, const Default = T>(
  choices: readonly T[],
  missing: Default,
): Option<T, T | Default> {
  return {
    schema: { type: 'string', enum: choices, default: missing },
    read: (value, name) => {
      return value === undefined ? missing : checkChoice(value, `option ${name}`, choices)
    },
  }
}

/** An object with some methods; an implementation of `T`. */
export function implementation<T extends object>(
  methods: readonly (keyof T & string)[],
): Option<T, T | undefined>
export function implementation<T extends object>(
  methods: readonly (keyof T & string)[],
  missing: T,
): Option<T, T>
export function implementation<T extends object>(
  methods: readonly (keyof T & string)[],
  missing?: T,
): Option<T, T | undefined> {
  return {
    read: (value, name) => {
      return value === undefined ? missing : checkMethods(value as T, `option ${name}`, methods)
    },
  }
}

/** A function of type `F`. */
export function callback<F>(): Option<F, F | undefined>
export function callback<F>(missing: F): Option<F, F>
export function callback<F>(missing?: F): Option<F, F | undefined> {
  return {
    read(value, name) {
      if (value === undefined) return missing
      if (typeof value === 'function') return value as F
      throw invalidArgument(`option ${name} must be a function, got ${shown(value)}`)
    },
  }
}

/** An array; `element` reads each of its elements. The result is a copy. */
export function list<Given, Read>(
  element: Option<Given, Read>,
): Option<readonly Given[], readonly Read[]>
export function list<Given, Read, Default>(
  element: Option<Given, Read>,
  missing: Default,
): Option<readonly Given[], readonly Read[] | Default>
export function list<Given, Read>(
  element: Option<Given, Read>,
  ...missing: unknown[]
): Option<readonly Given[], unknown> {
  return {
    schema: { type: 'array', items: element.schema ?? {} },
    read(value, name) {
      if (value === undefined) return missing.length === 0 ? [] : missing[0]
      const elements = checkArray(value as readonly unknown[], `option ${name}`)
      return elements.map((each, i) => element.read(each, `${name}[${i}]`))
    },
  }
}

/** A number, or Infinity, which is the default. */
export function orInfinity(option: Option<number, unknown>): Option<number, number> {
  return {
    read(value, name) {
      if (value === undefined || value === Infinity) return Infinity
      return option.read(value, name) as number
    },
  }
}

/** A value that `check` reads; `check` is not called for an absent option. */
export function checked<Given, Read = Given>(
  check: (value: Given, what: string) => Read,
): Option<Given, Read | undefined>
export function checked<Given, Read = Given, Default = Read>(
  check: (value: Given, what: string) => Read,
  missing: Default,
): Option<Given, Read | Default>
export function checked<Given, Read, Default>(
  check: (value: Given, what: string) => Read,
  missing?: Default,
): Option<Given, Read | Default | undefined> {
  return {
    read: (value, name) => {
      return value === undefined ? missing : check(value as Given, `option ${name}`)
    },
  }
}

/** An option with this description of its value in JSON, in place of its own. */
export function described<O extends Option<unknown, unknown>>(option: O, schema: JsonSchema): O {
  return { ...option, schema }
}

/** A value of any type, which the code that uses it checks. */
export function unchecked<T = unknown>(): Option<T, T | undefined> {
  return { read: (value) => value as T | undefined }
}

/** An option without a default. */
export function required<Given, Read>(
  option: Option<Given, Read>,
): RequiredOption<Given, Exclude<Read, undefined>> {
  return {
    isRequired: true,
    schema: { ...option.schema, default: undefined },
    read(value, name) {
      return option.read(value, name) as Exclude<Read, undefined>
    },
  }
}
