/** One request to the repository: its table, its permissions, its names, and its preconditions. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  NameWriter,
  NameReader,
  parseJson,
  recordToJson,
  RecordId,
  RepositoryError,
  RepositoryErrorCode,
  type FieldType,
  type Json,
  type JsonInput,
  type JsonObject,
  type QualifiedName,
  type RecordOutput,
  type RecordTable,
  type RepositoryManager,
  type StoredRecord,
} from '../../systems/repository/index.js'
import { objectOf } from '../../systems/repository/json/json-shapes.js'
import { forbidden, principalOf, type Principal } from '../http/access.js'
import type { FieldNames } from './field-names.js'
import { invalidArgument, withStatus } from '../http/http-errors.js'
import type { Source } from '../source.js'
import { TableAccess } from './table-access.js'

/** Where the manager comes from; undefined while another process leads. */
export type RepositorySource = Source<RepositoryManager>

/** The manager. `ERR_REPOSITORY_CLOSED` while there is none. */
export function managerOf(find: () => RepositoryManager | undefined): RepositoryManager {
  const manager = find()
  if (manager !== undefined) return manager
  throw new RepositoryError(RepositoryErrorCode.closed, 'another process serves the repository')
}

/** What `If-Match` and `If-None-Match` demand. */
export interface Preconditions {
  /** Revisions of which the record must have one; `any`: it must exist. */
  readonly match: readonly number[] | 'any' | undefined
  readonly noneMatch: readonly number[] | 'any' | undefined
}

type Fields = Record<string, unknown>

/** What a request is answered with. */
export interface CallParts {
  readonly manager: RepositoryManager
  /** What the names in the rules of principals mean; undefined if all are administrators. */
  readonly fieldNames: FieldNames | undefined
}

/** A request. */
export class Call {
  readonly manager: RepositoryManager
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly principal: Principal
  readonly access: TableAccess
  /** What the names in the rules of principals mean. */
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

  /** What the principal may do with a table of the repository in the address. */
  accessTo(table: string, repository = this.repository): TableAccess {
    return new TableAccess(this.principal, { names: this.fieldNames, repository, table })
  }

  /** A part of the address. */
  parameter(name: string): string {
    return this.#parameters[name] ?? ''
  }

  /** A parameter behind the question mark; undefined without. `ERR_INVALID_ARGUMENT` if twice. */
  query(name: string): string | undefined {
    const value = this.#query[name]
    if (value === undefined || typeof value === 'string') return value
    throw invalidArgument(`${name} occurs twice`)
  }

  /** A whole number behind the question mark. `ERR_INVALID_ARGUMENT`. */
  count(name: string, byDefault: number): number {
    const text = this.query(name)
    if (text === undefined) return byDefault
    if (/^[0-9]{1,15}$/.test(text)) return Number(text)
    throw invalidArgument(`${name} must be a whole number`)
  }

  /** True or false behind the question mark. `ERR_INVALID_ARGUMENT`. */
  flag(name: string, byDefault: boolean): boolean {
    const text = this.query(name)
    if (text === undefined) return byDefault
    if (text === 'true' || text === 'false') return text === 'true'
    throw invalidArgument(`${name} must be true or false`)
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

  /** The table for a read. `ERR_FORBIDDEN`. */
  get readable(): RecordTable {
    this.access.checkReadsRecords()
    return this.table
  }

  /** The table for a write. `ERR_FORBIDDEN`. */
  get writable(): RecordTable {
    this.access.checkWritesRecords()
    return this.table
  }

  /** The id in the address. `ERR_INVALID_ARGUMENT`. */
  get id(): RecordId {
    return RecordId.parse(this.parameter('id'))
  }

  /** Prefixes that the address declares: `ns.prefix=namespace`. */
  get namespaces(): NameReader {
    const declared = Object.keys(this.#query).filter((name) => name.startsWith('ns.'))
    return new NameReader(declared.map((name) => [name.slice('ns.'.length), this.query(name)!]))
  }

  /** A name in the address: `prefix$local` or `{namespace}local`. */
  name(parameter: string): QualifiedName {
    return this.namespaces.resolve(this.parameter(parameter), `the ${parameter} in the address`)
  }

  /** With what JSON of this request is read. */
  get input(): JsonInput {
    const { access } = this
    return {
      schema: this.manager.types.schema,
      namespaces: this.namespaces,
      checkWrite: (field) => {
        if (!access.canWrite(field)) throw forbiddenField(field, 'written')
      },
      checkRead: (field) => {
        if (!access.canRead(field)) throw forbiddenField(field, 'read')
        // Equal values have equal fields inside, also those that are hidden.
        const type = this.manager.types.schema.findField(field)?.type
        if (type !== undefined && holdsRecords(type) && !access.readsAll) {
          throw forbiddenField(field, 'compared')
        }
      },
      checkLink: ({ table = this.tableName }) => {
        // A rule about targets would tell which records there are.
        if (this.accessTo(table).readsRecords) return
        throw forbidden(`records of the table ${table} cannot be linked to`)
      },
    }
  }

  /** With what JSON of one answer is written. */
  get output(): RecordOutput {
    return {
      schema: this.manager.types.schema,
      names: this.names,
      isReadable: (field) => this.access.canRead(field),
      withSchema: this.flag('schema', false),
    }
  }

  /** Names for one answer. */
  get names(): NameWriter {
    return new NameWriter({ prefixes: this.flag('nsprefixes', true) })
  }

  /** Fields that are wanted, from `fields=a$b,{c}d`; undefined = all. */
  get fields(): string[] | undefined {
    const text = this.query('fields')
    if (text === undefined || text === '') return undefined
    const { namespaces } = this
    return (text.match(/(\{[^}]*\}|[^,{])+/g) ?? []).map((each) => {
      const name = namespaces.resolve(each.trim(), 'fields')
      return withAddress(() => this.manager.types.getFieldType(name), 400).name
    })
  }

  /** The body. `ERR_INVALID_ARGUMENT`. */
  get json(): Json {
    return parseJson(this.request.body as Buffer)
  }

  /** The body of an action, `{ "action": …, … }`, which must be one of these. */
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

  /** Answers with a record and its revision as entity tag. */
  sendRecord(record: StoredRecord, status = 200): FastifyReply {
    this.tag(record)
    return this.reply.code(status).send(recordToJson(record, this.output))
  }

  /** Says the revision of a record as entity tag. */
  tag({ revision }: StoredRecord): void {
    void this.reply.header('etag', `"${revision}"`).header('cache-control', 'private, no-cache')
  }

  get preconditions(): Preconditions {
    const { 'if-match': match, 'if-none-match': noneMatch } = this.request.headers
    return {
      // A weak tag says nothing about the bytes that a change starts from.
      match: revisionsOf(match, 'If-Match', (isWeak) => !isWeak),
      noneMatch: revisionsOf(noneMatch, 'If-None-Match', () => true),
    }
  }
}

const entityTag = /\s*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*(?:,|$)/y

/**
 * Revisions of entity tags that may be compared; tags that are none of ours match nothing.
 * `ERR_INVALID_ARGUMENT` for a header that is no list of tags.
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

function forbiddenField(field: string, what: string): RepositoryError {
  const message = `no permission: ${field} cannot be ${what}`
  return new RepositoryError(RepositoryErrorCode.forbidden, message)
}

const addressed: readonly string[] = [
  RepositoryErrorCode.fieldTypeNotFound,
  RepositoryErrorCode.recordTypeNotFound,
]

/** Runs a look-up of a type that the address names: an unknown one has this status. */
export function withAddress<T>(lookUp: () => T, status = 404): T {
  try {
    return lookUp()
  } catch (error) {
    const isUnknown = error instanceof RepositoryError && addressed.includes(error.code)
    throw isUnknown ? withStatus(status, error) : error
  }
}
