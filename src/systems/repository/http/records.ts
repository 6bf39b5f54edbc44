/** Routes of records: read, create, change, delete, versions, variants. */
import { isDeepStrictEqual } from 'node:util'
import {
  attributesFromJson,
  conditionsFromJson,
  metadataToJson,
  NameWriter,
  recordFromJson,
  RecordId,
  recordToJson,
  valueToJson,
  type Condition,
  type FieldDifference,
  type Json,
  type JsonOutput,
  type RecordInput,
  type RecordTable,
  type StoredRecord,
  type UpdateOptions,
  type WriteResult,
} from '../index.js'
import { hasCode, repositoryError } from '../errors.js'
import { countOf, optional, textOf } from '../json/json-shapes.js'
import { withAddress, type Call } from './call.js'
import {
  naming,
  queryCount,
  reading,
  route,
  schemas,
  showing,
  writing,
  type Route,
} from './declarations.js'
import { invalidArgument } from '../../../api/index.js'
import { withStatus } from '../../../http/errors.js'

const paging: Partial<Route> = {
  needs: 'read',
  query: {
    'start-index': queryCount(1, 'the first version', [1, Number.MAX_SAFE_INTEGER]),
    'max-results': queryCount(10, 'most versions', [0, 1000]),
    ...showing,
  },
}
const twoVersions: Partial<Route> = {
  needs: 'read',
  query: { from: queryCount(0, 'a version'), to: queryCount(0, 'another one'), ...naming },
}
const putting: Partial<Route> = { ...writing, body: schemas.record }
const creating: Partial<Route> = { ...writing, body: schemas.creation }
const acting: Partial<Route> = { ...writing, body: schemas.action, needs: undefined }
const deleting: Partial<Route> = { ...writing, needs: undefined }

/** Routes of records, below each form of the addresses. */
export const recordRoutes: readonly Route[] = [
  route('get /record/:id', 'read record', reading, readRecord),
  route('put /record/:id', 'put record', putting, putRecord),
  route('post /record/:id', 'post record', acting, postRecord),
  route('delete /record/:id', 'delete record', deleting, (call) => removeRecord(call)),
  route('post /record', 'create record', creating, createRecord),
  route('get /record/:id/version', 'list versions', paging, listVersions),
  route('get /record/:id/version/:version', 'read version', reading, readRecord),
  route('put /record/:id/version/:version', 'put version', putting, putVersion),
  route('get /record/:id/vtag/:tag', 'read tagged', reading, readTagged),
  route('get /record/:id/variant', 'list variants', { needs: 'read' }, async (call) => {
    return { results: (await call.table.variants(call.id)).map((id) => id.text) }
  }),
  route('get /record/:id/diff', 'diff versions', twoVersions, diffVersions),
]

async function readRecord(call: Call): Promise<object | undefined> {
  const { version, fields } = call
  return freshAnswer(call, await call.table.read(call.id, { version, fields }))
}

async function listVersions(call: Call): Promise<unknown> {
  const [from, count] = [call.number('start-index'), call.number('max-results')]
  const { table } = call
  const records =
    count === 0
      ? []
      : await table.readVersions(call.id, { from, to: from + count - 1 }, { fields: call.fields })
  return { results: records.map((record) => recordToJson(record, call.output)) }
}

async function readTagged(call: Call): Promise<object | undefined> {
  const { table } = call
  const given = call.parameter('tag')
  const tag = call.tagOf(given, 'the tag in the address')
  withAddress(() => call.manager.types.getFieldType(tag))
  if (!call.access.canReadTag(tag)) throw notTagged(call, given)
  const record = await table.readTagged(call.id, tag, { fields: call.fields })
  if (record === undefined) throw notTagged(call, given)
  return freshAnswer(call, record)
}

function notTagged(call: Call, tag: string): Error {
  const message = `the record ${call.id.text} has no version with the tag ${tag}`
  return repositoryError('versionNotFound', message)
}

/**
 * GET of the readable fields that differ between two versions. A record in a field is compared
 * without its hidden fields.
 */
async function diffVersions(call: Call): Promise<unknown> {
  const differences = await call.table.diff(call.id, call.number('from'), call.number('to'))
  const { output } = call
  const { names, schema } = output
  const results = differences
    .filter(({ field }) => call.access.canRead(field))
    .filter((difference) => differsReadably(difference, output))
    .map(({ field, before, after, metadataBefore, metadataAfter }) => {
      const { name, type } = schema.field(field)
      const form = (value: unknown): unknown => {
        return value === undefined ? undefined : valueToJson(type, value, output)
      }
      return {
        field: names.write(name),
        before: form(before),
        after: form(after),
        metadataBefore: metadataBefore && metadataToJson(metadataBefore),
        metadataAfter: metadataAfter && metadataToJson(metadataAfter),
      }
    })
  return { results, namespaces: names.namespaces }
}

function differsReadably(
  { field, before, after, metadataBefore, metadataAfter }: FieldDifference,
  output: JsonOutput,
): boolean {
  const { type } = output.schema.field(field)
  // The answer must not declare prefixes of names that it does not show.
  const unnamed = { ...output, names: new NameWriter({ prefixes: false }) }
  const form = (value: unknown): unknown => {
    return value === undefined ? undefined : valueToJson(type, value, unnamed)
  }
  return (
    !isDeepStrictEqual(form(before), form(after)) ||
    !isDeepStrictEqual(metadataBefore, metadataAfter)
  )
}

async function createRecord(call: Call): Promise<object | undefined> {
  const { table } = call
  const { body } = call.action({ create: ['record'] })
  const input = recordOf(call, body['record'], body['namespaces'])
  return writtenAnswer(call, await table.create(input, typeOptions(input)))
}

async function putRecord(call: Call): Promise<object | undefined> {
  const { table } = call
  const { id } = call
  const input = withId(id, recordOf(call, call.json))
  const { noneMatch } = call.preconditions
  const write = async (): Promise<WriteResult> => {
    if (noneMatch === 'any') return table.create(input, typeOptions(input))
    const revision = await matched(call, table, id)
    const options = { ...typeOptions(input), revision }
    return revision === undefined
      ? table.createOrUpdate(input, options)
      : table.update(input, options)
  }
  return writtenAnswer(call, await preconditioned(call, write))
}

async function putVersion(call: Call): Promise<object | undefined> {
  const { table } = call
  const { id } = call
  const { version } = call
  const input = withId(id, recordOf(call, call.json))
  if (input.version !== undefined && input.version !== version) {
    throw invalidArgument(`the version is ${version} in the address, ${input.version} in the body`)
  }
  const result = await preconditioned(call, async () => {
    const revision = await matched(call, table, id)
    return table.update(input, { ...typeOptions(input), revision, version })
  })
  return writtenAnswer(call, result)
}

const actions = {
  update: ['record', 'conditions', 'attributes'],
  delete: ['conditions', 'attributes'],
  restore: ['version'],
  undelete: [],
  tag: ['tag', 'version'],
  untag: ['tag'],
} as const

async function postRecord(call: Call): Promise<object | undefined> {
  const { id } = call
  const { action, body } = call.action(actions)
  const input = inputOf(call, body['namespaces'])
  const conditions = optional(body['conditions'], 'conditions', (json) => {
    return conditionsFromJson(json, input)
  })
  const attributes = optional(body['attributes'], 'attributes', attributesFromJson)
  if (action === 'delete') return removeRecord(call, conditions, attributes)
  call.access.checkWritesRecords()
  const { table } = call
  if (action === 'restore' || action === 'undelete') call.access.checkWritesAll()
  if (action === 'undelete') call.access.checkDeletes()
  const version = optional(body['version'], 'version', countOf)
  const write = async (): Promise<WriteResult> => {
    if (action === 'undelete') return table.undelete(id)
    const revision = await matched(call, table, id)
    if (action === 'restore') return table.restore(id, version ?? 0, { revision })
    if (action === 'tag' || action === 'untag') {
      const tag = call.tagOf(textOf(body['tag'], 'tag'), 'tag', input.namespaces)
      input.checkWrite?.(tag)
      return action === 'tag'
        ? table.tag(id, tag, version, { revision })
        : table.untag(id, tag, { revision })
    }
    const record = withId(id, recordFromJson(body['record'] ?? {}, input))
    const merged = attributes === undefined ? record : { ...record, attributes }
    const options: UpdateOptions = { ...typeOptions(record), conditions, revision }
    return table.update(merged, options)
  }
  return writtenAnswer(call, await preconditioned(call, write))
}

async function removeRecord(
  call: Call,
  conditions?: readonly Condition[],
  attributes?: Readonly<Record<string, string>>,
): Promise<object | undefined> {
  call.access.checkDeletes()
  const { table, id } = call
  const { status, record } = await preconditioned(call, async () => {
    const revision = await matched(call, table, id)
    return table.delete(id, { conditions, revision, attributes })
  })
  return status === 'CONFLICT' ? call.recordAnswer(record, 409) : call.empty(204)
}

/** The record in a body, which inherits the namespaces of the enclosing object. */
function recordOf(call: Call, json: Json | undefined, namespaces?: Json): RecordInput {
  if (json === undefined) throw invalidArgument('the body has no record')
  return recordFromJson(json, inputOf(call, namespaces))
}

function inputOf(call: Call, namespaces: Json | undefined): Call['input'] {
  const { input } = call
  return { ...input, namespaces: input.namespaces.with(namespaces, 'namespaces') }
}

function withId(id: RecordId, input: RecordInput): RecordInput {
  if (input.id !== undefined && !RecordId.of(input.id).equals(id)) {
    throw invalidArgument(`the id is ${id.text} in the address, ${String(input.id)} in the body`)
  }
  return { ...input, id }
}

/** A type with a version means that version, otherwise the newest version. */
function typeOptions({ type }: RecordInput): { readonly useLatestRecordType: boolean } {
  const isPinned = typeof type === 'object' && type.version !== undefined
  return { useLatestRecordType: !isPinned }
}

/**
 * The revision that the write expects, from `If-Match` and `If-None-Match`; undefined if any
 * revision is allowed. `ERR_CONCURRENT_RECORD_UPDATE`.
 */
async function matched(
  { preconditions: { match, noneMatch } }: Call,
  table: RecordTable,
  id: RecordId,
): Promise<number | undefined> {
  if (match === undefined && noneMatch === undefined) return undefined
  const found = await table.read(id).catch((error: unknown) => {
    if (match === undefined && hasCode(error, 'recordNotFound')) return undefined
    throw error
  })
  if (found === undefined) return undefined
  const { revision } = found
  const isMatch = match === undefined || match === 'any' || match.includes(revision)
  const isNoneMatch = noneMatch === 'any' || noneMatch?.includes(revision) === true
  if (isMatch && !isNoneMatch) return revision
  const message = `the record ${id.text} has the revision ${revision}`
  throw repositoryError('concurrentRecordUpdate', message)
}

/** Runs a write; failed preconditions have the status 412. */
async function preconditioned(
  { preconditions: { match, noneMatch } }: Call,
  write: () => Promise<WriteResult>,
): Promise<WriteResult> {
  try {
    return await write()
  } catch (error) {
    const isFailed =
      (match !== undefined || noneMatch !== undefined) &&
      hasCode(error, 'concurrentRecordUpdate', 'recordNotFound', 'recordExists')
    throw isFailed ? withStatus(412, error) : error
  }
}

/** The answer to a read, with 304 if the reader already has the revision. */
function freshAnswer(call: Call, record: StoredRecord): object | undefined {
  const { noneMatch } = call.preconditions
  if (noneMatch === 'any' || noneMatch?.includes(record.revision) === true) {
    call.tag(record)
    return call.empty(304)
  }
  return call.recordAnswer(record)
}

function writtenAnswer(call: Call, { status, record }: WriteResult): object {
  if (status === 'CONFLICT') return call.recordAnswer(record, 409)
  if (status !== 'CREATED') return call.recordAnswer(record)
  const own = call.request.url.split('?')[0]
  const path = call.parameter('id') === '' ? own : own.slice(0, own.lastIndexOf('/'))
  void call.reply.header('location', `${path}/${encodeURIComponent(record.id.text)}`)
  return call.recordAnswer(record, 201)
}
