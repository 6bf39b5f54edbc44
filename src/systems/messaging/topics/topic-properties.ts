/** Checks of the properties of topics. */
import { invalidArgument, checkObject, readArguments, shown } from '../../../api/index.js'
import { generationMax } from './topic.js'
import type { TopicProperties } from '../types.js'

const ttlSecondsMax = 0x7fff_ffff
const propertiesBytesMax = 64 * 1024

/**
 * The effective properties of a topic: defaults overlaid by the caller's properties, without the
 * generation, which only the store sets. `ERR_INVALID_ARGUMENT`.
 */
export function effectiveProperties(
  properties: unknown,
  defaultTtlSeconds: number,
): Record<string, string> {
  const given = checkedProperties(properties)
  const effective: Record<string, string> = { ttl: String(defaultTtlSeconds) }
  let bytes = 0
  for (const [name, value] of given) {
    bytes += name.length + value.length
    if (name !== 'generation') effective[name] = value
    else checkNumber(name, value, -generationMax, generationMax)
  }
  if (bytes > propertiesBytesMax) {
    throw invalidArgument(`properties take at most ${propertiesBytesMax} characters`)
  }
  checkNumber('ttl', effective['ttl'], 1, ttlSecondsMax)
  return effective
}

/** A copy of properties, by name. `ERR_INVALID_ARGUMENT` unless all values are strings. */
export function checkedProperties(properties: unknown): [name: string, value: string][] {
  checkObject(properties, 'properties', "{ ttl: '60' }")
  const given = readArguments(() => Object.entries(properties as Record<string, unknown>))
  return given.map(([name, value]) => {
    if (typeof value === 'string') return [name, value]
    throw invalidArgument(`the property '${name}' must be a string, got ${shown(value)}`)
  })
}

/** Properties with their generation, as programs see them. */
export function withGeneration(
  properties: TopicProperties,
  generation: number,
): Record<string, string> {
  return { ...properties, generation: String(generation) }
}

function checkNumber(name: string, text: string, min: number, max: number): void {
  const value = /^[+-]?[0-9]{1,15}$/.test(text) ? Number(text) : NaN
  if (value >= min && value <= max && value !== 0) return
  throw invalidArgument(`the property '${name}' must be a whole number, got ${shown(text)}`)
}
