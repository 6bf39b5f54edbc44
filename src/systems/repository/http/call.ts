/** One request to the repository: its table, permissions, names and preconditions. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  NameReader,
  NameWriter,
  parseJson,
  RecordId,
  recordToJson,
  type FieldType,
  type Json,
  type JsonInput,
  type JsonObject,
  type QualifiedName,
  type RecordOutput,
  type RecordTable,
  type RepositoryManager,
  type StoredRecord,
} from '../index.js'
import { hasCode, repositoryError } from '../errors.js'
import { objectOf } from '../json/json-shapes.js'
import { principalOf, type Principal } from '../../../http/access.js'
import type { FieldNames } from './field-names.js'
import { assert, invalidArgument } from '../../../api/index.js'
import { forbidden, withStatus } from '../../../http/errors.js'
import type { Source } from '../../../http/server-system.js'
import { TableAccess } from './table-access.js'
import { tagNameOf } from '../qualified-name.js'

/** The source of the manager; undefined while another process leads. */
export type RepositorySource = Source<RepositoryManager>

/** The preconditions of `If-Match` and `If-None-Match`. */
export interface Preconditions {
  /** Revisions that match the record; `any`: the record must exist. */
  readonly match: readonly number[] | 'any' | undefined
  readonly noneMatch: readonly number[] | 'any' | undefined
}

type Fields = Record<string, unknown>

/** The parts of the server that a request needs. */
export interface CallParts {
  readonly manager: RepositoryManager
  readonly fieldNames: FieldNames | undefined
}

/** A request. */
export class Call {
  readonly manager: RepositoryManager
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly principal: Principal
  readonly access: TableAccess
  readonly fieldNames: FieldNames | undefined
  readonly #query: Fields
  readonly #parameters: Record<string, string | undefined>

  constructor({ manager, fieldNames }: CallParts, request: FastifyRequest, reply: FastifyReply) {
    this.manager = manager
    this.fieldNames = fieldNames
    this.request = request
    this.reply = reply
    this.principal = principalOf(request)
    this.#query = request.query as Fields
    this.#parameters = request.params as Record<string, string | undefined>
    this.access = this.accessTo(this.tableName)
  }

  /** The permissions of the principal for a table of the repository in the address. */
  accessTo(table: string, repository = this.repository): TableAccess {
    return new TableAccess(this.principal, { names: this.fieldNames, repository, table })
  }

  parameter(name: string): string {
    return this.#parameters[name] ?? ''
  }

  /** A text in the query; undefined if absent. */
  text(name: string): string | undefined {
    return this.#query[name] as string | undefined
  }

  /** A number in the query, with the default of the route. */
  number(name: string): number {
    const value = this.#query[name]
    assert(typeof value === 'number', 'the route declares the query parameter')
    return value
  }

  /** A flag in the query, with the default of the route; false for routes without it. */
  flag(name: string): boolean {
    return this.#query[name] === true
  }

  get repository(): string {
    return this.#parameters['repository'] ?? 'default'
  }

  get tableName(): string {
    return this.#parameters['table'] ?? 'record'
  }

  /** The record table. `ERR_REPOSITORY_NOT_FOUND`, `ERR_RECORD_TABLE_NOT_FOUND`. */
  get table(): RecordTable {
    return this.manager.repository(this.repository).table(this.tableName)
  }

  /** The id in the address. `ERR_INVALID_ARGUMENT`. */
  get id(): RecordId {
    return RecordId.parse(this.parameter('id'))
  }

  /** The version in the address, if there is one. `ERR_VERSION_NOT_FOUND` for other texts. */
  get version(): number | undefined {
    const text = this.parameter('version')
    if (/^[0-9]{0,12}$/.test(text)) return text === '' ? undefined : Number(text)
    throw repositoryError('versionNotFound', `there is no version ${text}`)
  }

  /** A version tag: a name, which may lack its namespace. `at` is the place in messages. */
  tagOf(given: string, at: string, namespaces = this.namespaces): QualifiedName {
    return /[{$]/.test(given) ? namespaces.resolve(given, at) : (tagNameOf(given) as QualifiedName)
  }

  /** Prefixes declared in the address: `ns.prefix=namespace`. */
  get namespaces(): NameReader {
    const declared = Object.keys(this.#query).filter((name) => name.startsWith('ns.'))
    return new NameReader(
      declared.map((name) => [name.slice('ns.'.length), this.#query[name] as string]),
    )
  }

  /** A name in the address: `prefix$local` or `{namespace}local`. */
  name(parameter: string): QualifiedName {
    return this.namespaces.resolve(this.parameter(parameter), `the ${parameter} in the address`)
  }

  get input(): JsonInput {
    const { access } = this
    return {
      schema: this.manager.types.schema,
      namespaces: this.namespaces,
      checkWrite: (field) => {
        if (!access.canWrite(field)) throw forbidden(`${field} cannot be written`)
      },
      checkRead: (field) => {
        if (!access.canRead(field)) throw forbidden(`${field} cannot be read`)
        // Equal values have equal nested fields, including hidden fields.
        const type = this.manager.types.schema.findField(field)?.type
        if (type !== undefined && holdsRecords(type) && !access.readsAll) {
          throw forbidden(`${field} cannot be compared`)
        }
      },
      checkLink: ({ table = this.tableName }) => {
        // A rule about link targets would reveal which records exist.
        if (this.accessTo(table).readsRecords) return
        throw forbidden(`records of the table ${table} cannot be linked to`)
      },
    }
  }

  get output(): RecordOutput {
    return {
      schema: this.manager.types.schema,
      names: this.names,
      isReadable: (field) => this.access.canRead(field),
      withSchema: this.flag('schema'),
    }
  }

  get names(): NameWriter {
    return new NameWriter({ prefixes: this.#query['nsprefixes'] !== false })
  }

  /** The requested fields, from `fields=a$b,{c}d`; undefined = all. */
  get fields(): string[] | undefined {
    const text = this.text('fields')
    if (text === undefined || text === '') return undefined
    const { namespaces } = this
    return (text.match(/(\{[^}]*\}|[^,{])+/g) ?? []).map((each) => {
      const name = namespaces.resolve(each.trim(), 'fields')
      return withAddress(() => this.manager.types.getFieldType(name), 400).name
    })
  }

  get json(): Json {
    return parseJson(this.request.body as Buffer)
  }

  /** The body of an action, `{ "action": …, … }`, which must be one of these actions. */
  action(actions: Readonly<Record<string, readonly string[]>>): {
    readonly action: string
    readonly body: JsonObject
  } {
    const body = objectOf(this.json, 'the body')
    const action = body['action'] as Json | undefined
    if (typeof action !== 'string' || !Object.hasOwn(actions, action)) {
      throw invalidArgument(`the action is one of ${Object.keys(actions).join(', ')}`)
    }
    objectOf(body, 'the body', ['action', 'namespaces', ...actions[action]])
    return { action, body }
  }

  /** The answer that a part of the address was created. */
  created(part: string, body: object): object {
    const [path] = this.request.url.split('?')
    void this.reply.code(201).header('location', `${path}/${encodeURIComponent(part)}`)
    return body
  }

  /** The answer with a record, and with its revision as entity tag. */
  recordAnswer(record: StoredRecord, status = 200): object {
    this.tag(record)
    void this.reply.code(status)
    return recordToJson(record, this.output)
  }

  empty(status: 200 | 204 | 304): undefined {
    void this.reply.code(status)
  }

  /** Sets the revision of a record as entity tag. */
  tag({ revision }: StoredRecord): void {
    void this.reply.header('etag', `"${revision}"`).header('cache-control', 'private, no-cache')
  }

  get preconditions(): Preconditions {
    const { 'if-match': match, 'if-none-match': noneMatch } = this.request.headers
    return {
      // A weak tag does not identify the content that a change starts from.
      match: revisionsOf(match, 'If-Match', (isWeak) => !isWeak),
      noneMatch: revisionsOf(noneMatch, 'If-None-Match', () => true),
    }
  }
}

const entityTag = /\s*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*(?:,|$)/y

/**
 * Revisions of comparable entity tags; tags of other origins match nothing. `ERR_INVALID_ARGUMENT`
 * for a header that is not a list of tags.
 */
function revisionsOf(
  header: string | undefined,
  name: string,
  counts: (isWeak: boolean) => boolean,
): readonly number[] | 'any' | undefined {
  if (header === undefined) return undefined
  if (header.trim() === '*') return 'any'
  const revisions: number[] = []
  entityTag.lastIndex = 0
  do {
    const match = entityTag.exec(header)
    if (match === null) throw invalidArgument(`${name} is * or a list of entity tags`)
    const [, weak, tag] = match
    if (counts((weak as string | undefined) !== undefined) && /^[0-9]{1,15}$/.test(tag)) {
      revisions.push(Number(tag))
    }
  } while (entityTag.lastIndex < header.length)
  return revisions
}

function holdsRecords(type: FieldType['type']): boolean {
  return type.element === undefined ? type.base === 'RECORD' : holdsRecords(type.element)
}

/** Looks up a type that the address names: an unknown type has this status. */
export function withAddress<T>(lookUp: () => T, status = 404): T {
  try {
    return lookUp()
  } catch (error) {
    const isUnknown = hasCode(error, 'fieldTypeNotFound', 'recordTypeNotFound')
    throw isUnknown ? withStatus(status, error) : error
  }
}
