/**
 * Readers of JSON values. Every function names the position in its error, an
 * `ERR_INVALID_ARGUMENT`. A position is a text such as `record.fields`.
 */
import { checkText, readArguments, shown } from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import { JsonNumber, type Json, type JsonObject } from './json-text.js'

/** A short text for a JSON value in messages. */
export function shownJson(json: Json | undefined): string {
  if (JsonNumber.is(json)) return json.text.slice(0, 40)
  return Array.isArray(json) ? 'an array' : shown(json)
}

/** Limit of nesting in JSON that callers pass; the parser bounds the nesting of texts. */
const depthMax = 1000

/**
 * Checks that a value is JSON at every depth: no objects of other kinds, and bounded nesting. Every
 * public function that takes JSON calls this first; `at` is the position in messages.
 */
export function checkJson<J extends Json | undefined>(json: J, at: string): J {
  readArguments(() => {
    checkPart(json, checkText(at, 'the place of JSON'), 0)
  })
  return json
}

function checkPart(json: unknown, at: string, depth: number): void {
  if (json === null || json === undefined || JsonNumber.is(json)) return
  if (typeof json !== 'object') {
    if (typeof json === 'string' || typeof json === 'number' || typeof json === 'boolean') return
    throw invalidArgument(`${at} is no JSON, got ${shown(json)}`)
  }
  if (depth >= depthMax) throw invalidArgument(`${at} nests more than ${depthMax} deep`)
  if (Array.isArray(json)) {
    for (const each of json as readonly unknown[]) {
      if (each === undefined) throw invalidArgument(`${at} lacks an element`)
      checkPart(each, at, depth + 1)
    }
    return
  }
  const prototype = Object.getPrototypeOf(json) as unknown
  if (prototype !== null && prototype !== Object.prototype) {
    throw invalidArgument(`${at} is no JSON, got ${shown(json)}`)
  }
  for (const each of Object.values(json)) checkPart(each, at, depth + 1)
}

/** Reads an object; with `names` it must have no other members. */
export function objectOf(
  json: Json | undefined,
  at: string,
  names?: readonly string[],
): JsonObject {
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json)
  if (!isObject || JsonNumber.is(json)) {
    throw invalidArgument(`${at} must be an object, got ${shownJson(json)}`)
  }
  const object = json as JsonObject
  if (names === undefined) return object
  for (const name of Object.keys(object)) {
    if (!names.includes(name)) throw invalidArgument(`${at} has no ${shown(name)}`)
  }
  return object
}

/** Reads an array. */
export function arrayOf(json: Json | undefined, at: string): readonly Json[] {
  if (Array.isArray(json)) return json as readonly Json[]
  throw invalidArgument(`${at} must be an array, got ${shownJson(json)}`)
}

/** Reads a text. */
export function textOf(json: Json | undefined, at: string): string {
  if (typeof json === 'string') return json
  throw invalidArgument(`${at} must be a text, got ${shownJson(json)}`)
}

/** Reads true or false, also as text. */
export function booleanOf(json: Json | undefined, at: string): boolean {
  if (json === true || json === 'true' || json === 't') return true
  if (json === false || json === 'false' || json === 'f') return false
  throw invalidArgument(`${at} must be true or false, got ${shownJson(json)}`)
}

/** Reads a whole number that is not negative, also as text. */
export function countOf(json: Json | undefined, at: string): number {
  const text = JsonNumber.is(json) ? json.text : json
  const value = typeof text === 'string' && /^[0-9]{1,16}$/.test(text) ? Number(text) : text
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw invalidArgument(`${at} must be a whole number, got ${shownJson(json)}`)
}

/** Reads a member that is present. Null counts as absent. */
export function optional<T>(
  json: Json | undefined,
  at: string,
  read: (json: Json, at: string) => T,
): T | undefined {
  return json === undefined || json === null ? undefined : read(json, at)
}

type Readers = Readonly<Record<string, (json: Json, at: string) => unknown>>

type MembersOf<R extends Readers> = {
  readonly [K in keyof R]: ReturnType<R[K]> | undefined
}

/**
 * Reads the members of an object, which must have no others. An absent member, or null, is
 * undefined; {@link raw} members stay as they are.
 */
export function membersOf<R extends Readers>(
  json: Json | undefined,
  at: string,
  readers: R,
): MembersOf<R> {
  const object = objectOf(json, at, Object.keys(readers))
  const read = Object.entries(readers).map(([name, reader]) => {
    const value = object[name] as Json | undefined
    return [name, reader === raw ? value : optional(value, `${at}.${name}`, reader)] as const
  })
  return Object.fromEntries(read) as MembersOf<R>
}

/** The reader of a member that stays as it is, null included. */
export function raw(json: Json): Json {
  return json
}

/** The reader of a member that is accepted and not used. */
export function unused(): undefined {
  return undefined
}

/** A reader of arrays. */
export function arraysOf<T>(
  read: (json: Json, at: string) => T,
): (json: Json, at: string) => readonly T[] {
  return (json, at) => arrayOf(json, at).map((each) => read(each, at))
}

/** A reader of objects with any names. */
export function recordsOf<T>(
  read: (json: Json, at: string) => T,
): (json: Json, at: string) => Record<string, T> {
  return (json, at) => {
    const entries = Object.entries(objectOf(json, at))
    return Object.fromEntries(
      entries.map(([name, each]) => [name, read(each, `${at}.${name}`)] as const),
    )
  }
}

/** Reads one of several texts, in any case of letters. */
export function wordOf(json: Json, at: string): string {
  return textOf(json, at).toUpperCase()
}

/** Reads bytes in base64. */
export function base64Of(json: Json | undefined, at: string): Buffer {
  const text = textOf(json, at)
  if (text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text))
    return Buffer.from(text, 'base64')
  throw invalidArgument(`${at} must be base64`)
}

/** JSON without number objects: a number that a double would change becomes text. */
export function plainJson(json: Json): unknown {
  if (JsonNumber.is(json)) return json.plain()
  if (Array.isArray(json)) return (json as readonly Json[]).map(plainJson)
  if (typeof json !== 'object' || json === null) return json
  return Object.fromEntries(
    Object.entries(json as JsonObject).map(([name, each]) => [name, plainJson(each)]),
  )
}
