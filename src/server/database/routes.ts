/**
 * A database over HTTP, under `/database`: the verbs of the command ask here when a process has the
 * directory open elsewhere. They look, compact, and make backups. For administrators.
 */
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  boolean,
  checkArray,
  CellarError,
  declareOptions,
  ErrorCode,
  integer,
  invalidArgument,
  shown,
  text as word,
  type JsonSchema,
  type OptionsOf,
  type SettingsOf,
} from '../../api/index.js'
import {
  addRoutes,
  operationId,
  readBody,
  type JsonBody,
  type Route,
} from '../../http/operations.js'
import { ServerErrorCode, withStatus } from '../../http/errors.js'
import { finderOf, type ServerSystem, type Source } from '../../http/server-system.js'
import { toJson } from './json.js'
import {
  compactedBy,
  parseCount,
  viewOf,
  type DatabaseView,
  type ReadWords,
  type SeenDatabase,
} from './views.js'

/** An open database that is looked at, compacted and backed up. */
export interface ServedDatabase extends SeenDatabase {
  /** Compacts a table, or all. */
  compact(
    table: string | undefined,
    options: { readonly major: boolean; readonly family: string | undefined },
  ): Promise<void>
  /** Makes a backup in a directory, or brings it up to date; the result is a summary. */
  backup(directory: string): Promise<object>
}

/** What needs files beside the open database. Results are values of JSON. */
export interface DirectoryVerbs {
  /** Reads everything and lists all problems: `Database.verify`. `signal`: the client has left. */
  readonly verify: (
    directory: string,
    options: { readonly bytesPerSecondMax?: number; readonly signal: AbortSignal },
  ) => Promise<object>
  /** Shows the structure of a directory: `Database.inspect`. */
  readonly inspect: (directory: string, options: { file?: number }) => Promise<object>
  /**
   * Makes a backup. `name` has letters, digits, `-` and `_` only; the place is not the request's to
   * choose. Default: requests for backups are refused with `ERR_UNSUPPORTED`.
   */
  readonly backup?:
    | ((database: ServedDatabase, name: string, options: BackupSettings) => Promise<object>)
    | undefined
}

const backupBody = declareOptions('a request for a backup', {
  /** Makes a backup named by its time in the named folder, and keeps so many. */
  keep: integer({ min: 1, default: undefined }),
  /** Whether the whole backup is read afterwards. Default false. */
  verify: boolean(false),
})

/** The body of a request for a backup. */
export interface BackupRequest extends OptionsOf<typeof backupBody> {}

/** A request for a backup with its defaults. */
export type BackupSettings = SettingsOf<typeof backupBody>

const compactBody = declareOptions('a request for a compaction', {
  /** Default: all tables. */
  table: word(undefined),
  /** Only this family. */
  family: word(undefined),
  /** Whether only the files are merged that the policy chooses. Default false. */
  minor: boolean(false),
})

/** The body of a request for a compaction. */
export interface CompactRequest extends OptionsOf<typeof compactBody> {}

/** Lines of JSON. */
const lines = 'application/x-ndjson'

interface Call {
  readonly database: ServedDatabase
  readonly view: DatabaseView
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly params: Readonly<Record<'table' | 'row' | 'name', string>>
  readonly query: Readonly<Record<string, string>>
  /** Fires when the client has left: long reads end. */
  readonly gone: AbortSignal
}

/**
 * The routes of a database, for a `CellarServer`; the source returns nothing while another process
 * leads. `ERR_INVALID_ARGUMENT`.
 */
export function databaseRoutes(
  source: Source<ServedDatabase>,
  verbs: DirectoryVerbs,
): ServerSystem {
  const find = finderOf(source, 'the database', ['statistics', 'listTables', 'compact', 'backup'])
  const callOf = (request: FastifyRequest, reply: FastifyReply): Call => {
    const database = find()
    if (database === undefined) {
      const message = 'another process has the database open'
      throw withStatus(503, new CellarError(ServerErrorCode.failed, message))
    }
    const params = request.params as Call['params']
    const gone = new AbortController()
    reply.raw.once('close', () => gone.abort())
    return {
      database,
      view: viewOf(database),
      request,
      reply,
      params,
      query: request.query as Call['query'],
      gone: gone.signal,
    }
  }
  return {
    name: 'database',
    register: (app) => addRoutes(app, '/database', routesOf(verbs), callOf),
  }
}

function routesOf({ verify, inspect, backup }: DirectoryVerbs): Route<Call>[] {
  return [
    get('/tables', 'list database tables', undefined, ({ view }) => view.tables()),
    get('/statistics', 'database statistics', undefined, ({ view }) => view.statistics()),
    get('/tables/:table', 'describe table', undefined, ({ view, params }) => {
      return view.describe(params.table)
    }),
    get('/tables/:table/count', 'count rows', scanQuery, async ({ view, params, query, gone }) => {
      return { table: params.table, rows: await view.count(params.table, scanWords(query), gone) }
    }),
    get('/tables/:table/rows/:row', 'get row', readQuery, async ({ view, params, query }) => {
      return (await view.row(params.table, params.row, readWords(query))) ?? null
    }),
    {
      ...get('/tables/:table/rows', 'scan rows', scanQuery, () => undefined),
      mediaType: lines,
      run: async ({ view, params, query, reply }) => {
        const rows = view.rows(params.table, scanWords(query))
        // A reader that goes away must not keep the scan open, nor the files that it pins.
        reply.raw.once('close', () => void rows.return(undefined).catch(() => undefined))
        // The first row shows whether table, columns and options are right.
        const first = await refused(() => rows.next())
        void reply.type(lines)
        return Readable.from(
          (async function* () {
            for (let next = first; next.done !== true; next = await rows.next()) {
              yield `${toJson(next.value)}\n`
            }
          })(),
        )
      },
    },
    get('/verify', 'verify database', { bytesPerSecond: text }, ({ database, query, gone }) => {
      const { bytesPerSecond: word } = query
      const rate =
        word === undefined ? {} : { bytesPerSecondMax: parseCount(word, 'bytesPerSecond') }
      return verify(database.directory, { ...rate, signal: gone })
    }),
    get('/inspect', 'inspect database', { file: text }, ({ database, query }) => {
      const options = query.file === undefined ? {} : { file: parseCount(query.file, 'file') }
      return inspect(database.directory, options)
    }),
    post('/compact', 'compact database', compactBody, ({ database }, { table, family, minor }) => {
      const run = (): Promise<void> => database.compact(table, { major: !minor, family })
      return compactedBy(table, async () => database.statistics(), run)
    }),
    post('/backups/:name', 'back up database', backupBody, ({ database, params }, how) => {
      if (backup === undefined) {
        const message = 'the server has no folder for backups: see --backups of cellar serve'
        throw new CellarError(ErrorCode.unsupported, message)
      }
      return backup(database, nameOfBackup(params.name), how)
    }),
  ]
}

const text: JsonSchema = { type: 'string' }
const flag: JsonSchema = { type: 'string', enum: ['true'] }
const readQuery = {
  columns: { ...text, description: 'families and columns, as JSON' },
  versions: text,
  timeRange: text,
  filter: text,
}
const scanQuery = {
  ...readQuery,
  ...{ from: text, to: text, prefix: text, limit: text, reversed: flag, raw: flag },
}

function readWords(query: Call['query']): ReadWords {
  const { columns, ...words } = query
  if (columns === undefined) return words
  let given: unknown
  try {
    given = JSON.parse(columns)
  } catch {
    throw invalidArgument('columns must be JSON')
  }
  return { ...words, columns: checkArray(given as string[], 'columns') }
}

function scanWords(query: Call['query']): ReadWords {
  const flags = { reversed: query.reversed === 'true', raw: query.raw === 'true' }
  return { ...readWords(query), ...flags }
}

type Answer = (call: Call) => object | null | undefined | Promise<object | null>

/** A route whose answer is JSON. */
function get(path: string, summary: string, query: Route<Call>['query'], run: Answer): Route<Call> {
  const answers = { 200: summary, 400: 'ERR_INVALID_ARGUMENT', 404: 'ERR_TABLE_NOT_FOUND' }
  return {
    ...{ at: `get ${path}`, id: operationId(summary), summary, answers, query },
    run: async (call) => {
      const value = await refused(async () => run(call))
      void call.reply.type('application/json')
      return toJson(value)
    },
  }
}

/** A route with a declared body, whose answer is JSON. */
function post<Body>(
  path: string,
  summary: string,
  body: JsonBody<Body>,
  run: (call: Call, body: Body) => Promise<object>,
): Route<Call> {
  const answered = get(path, summary, undefined, (call) => {
    return run(call, readBody(call.request, body))
  })
  const refusals = { 409: 'ERR_LOCKED, ERR_NOT_A_BACKUP', 501: 'ERR_UNSUPPORTED' }
  const answers = { ...answered.answers, ...refusals }
  return { ...answered, at: `post ${path}`, answers, body: body.schema }
}

/** The path is not the request's to choose. `ERR_INVALID_ARGUMENT`. */
function nameOfBackup(name: string): string {
  if (/^[\w-]{1,100}$/.test(name)) return name
  const rule = 'a backup of a server has a name of at most 100 letters, digits, - and _'
  throw invalidArgument(`${rule}, got ${shown(name)}`)
}

/** Statuses of errors about what the request names. */
const statuses: Readonly<Record<string, number>> = {
  [ErrorCode.tableNotFound]: 404,
  [ErrorCode.noSuchColumnFamily]: 400,
  [ErrorCode.locked]: 409,
  [ErrorCode.notABackup]: 409,
  [ErrorCode.unsupported]: 501,
}

async function refused<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    const status = error instanceof CellarError ? statuses[error.code] : undefined
    throw status === undefined ? error : withStatus(status, error)
  }
}
