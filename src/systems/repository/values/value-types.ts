/** The value types by their text form, also those that programs register. */
import { shown } from '../../../api/index.js'
import { invalidArgument, repositoryError } from '../errors.js'
import { blobTypes } from './blob-value.js'
import { arrayTypes, linkTypes, recordTypes } from './nested-types.js'
import { simpleTypes } from './simple-types.js'
import type { ValueType, ValueTypeFactory } from './value-type.js'

const textMax = 2048
const depthMax = 32

const builtIn: Readonly<Record<string, ValueTypeFactory>> = {
  ...simpleTypes,
  ...{ BLOB: blobTypes, LINK: linkTypes, RECORD: recordTypes },
  ...{ LIST: arrayTypes('LIST'), PATH: arrayTypes('PATH') },
}

/** A set of value types. */
export class ValueTypes {
  readonly #factories = new Map(Object.entries(builtIn))
  readonly #types = new Map<string, ValueType>()

  /**
   * With the types of the caller by name, the same at every open of the repository.
   * `ERR_INVALID_ARGUMENT` if a name is taken or is not in capital letters.
   */
  constructor(own: Readonly<Record<string, ValueTypeFactory>> = {}) {
    for (const [name, factory] of Object.entries(own)) {
      if (!/^[A-Z][A-Z0-9_]*$/.test(name) || this.#factories.has(name)) {
        throw invalidArgument(`a value type cannot have the name ${shown(name)}`)
      }
      this.#factories.set(name, factory)
    }
  }

  /**
   * The type of a text such as `LIST<STRING>`. `ERR_TYPE` for an unknown type,
   * `ERR_INVALID_ARGUMENT` for malformed text.
   */
  parse(text: string): ValueType {
    return this.#parse(text, 0)
  }

  #parse(text: string, depth: number): ValueType {
    if (typeof text !== 'string' || text.length > textMax || depth > depthMax) {
      throw invalidArgument(`a value type is a text such as LIST<STRING>, got ${shown(text)}`)
    }
    const known = this.#types.get(text)
    if (known !== undefined) return known
    const open = text.indexOf('<')
    const base = open < 0 ? text : text.slice(0, open)
    if (open >= 0 && (!text.endsWith('>') || open === text.length - 2)) {
      throw invalidArgument(`the argument of the value type ${shown(text)} is not complete`)
    }
    const factory = this.#factories.get(base)
    if (factory === undefined) {
      throw repositoryError('type', `there is no value type ${shown(text)}`)
    }
    const argument = open < 0 ? undefined : text.slice(open + 1, -1)
    if (argument !== undefined && Object.hasOwn(simpleTypes, base)) {
      throw invalidArgument(`${base} takes no argument, got ${shown(text)}`)
    }
    const type = factory(argument, (inner) => this.#parse(inner, depth + 1))
    this.#types.set(text, type)
    return type
  }
}
