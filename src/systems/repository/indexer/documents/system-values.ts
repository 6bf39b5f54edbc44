/** Values of the system fields of a record: its id, its version, and its type with supertypes. */
import { Link } from '../../link.js'
import type { SchemaCache } from '../../schema/schema-cache.js'
import { ValueTypes } from '../../values/value-types.js'
import type { SystemField } from '../definition/chain.js'
import type { IndexValue } from '../definition/configuration.js'
import type { Place } from '../index-rows.js'

/** The input of system fields. */
export interface SystemSubject {
  readonly place: Place
  readonly type: string | undefined
  readonly typeVersion: number | undefined
  readonly version: number | undefined
}

interface TypeVersion {
  readonly name: string
  readonly version: number
}

const types = new ValueTypes()
const text = types.parse('STRING')
const number = types.parse('LONG')
const link = types.parse('LINK')

/** Values of a system field. */
export function systemValues(
  name: SystemField,
  subject: SystemSubject,
  schema: SchemaCache,
): IndexValue[] {
  const { id, table } = subject.place
  if (name === 'id') return [{ value: id.text, type: text }]
  if (name === 'link') return [{ value: Link.to(id, table), type: link }]
  if (name === 'version') {
    return subject.version === undefined ? [] : [{ value: BigInt(subject.version), type: number }]
  }
  if (subject.type === undefined) return []
  const version = subject.typeVersion ?? schema.recordType(subject.type).version
  const own: TypeVersion = { name: subject.type, version }
  const part = partOf(name)
  if (name.startsWith('supertype')) return shown(above(own, schema), part)
  const isPlural = /^recordTypes|s$/.test(name)
  return shown(isPlural ? [own, ...above(own, schema)] : [own], part)
}

/** All supertypes of a type, each once. */
function above(own: TypeVersion, schema: SchemaCache): TypeVersion[] {
  const found = new Map<string, TypeVersion>()
  const visit = ({ name, version }: TypeVersion): void => {
    for (const supertype of schema.recordType(name, version).supertypes) {
      const { name: above } = schema.recordTypeById(supertype.id)
      if (above === own.name || found.has(above)) continue
      const next = { name: above, version: supertype.version }
      found.set(above, next)
      visit(next)
    }
  }
  visit(own)
  return [...found.values()]
}

type TypePart = 'all' | 'local' | 'namespace' | 'version' | 'withVersion'

function partOf(name: SystemField): TypePart {
  if (name.endsWith('WithVersion')) return 'withVersion'
  if (/Versions?$/.test(name)) return 'version'
  if (/Namespaces?$/.test(name)) return 'namespace'
  return /Names?$/.test(name) ? 'local' : 'all'
}

function shown(list: readonly TypeVersion[], part: TypePart): IndexValue[] {
  return list.map(({ name, version }) => {
    const end = name.indexOf('}')
    if (part === 'version') return { value: BigInt(version), type: number }
    let value = name
    if (part === 'local') value = name.slice(end + 1)
    else if (part === 'namespace') value = name.slice(1, end)
    else if (part === 'withVersion') value = `${name}:${version}`
    return { value, type: text }
  })
}
