/** A database behind a server, for the verbs of the command. */
import { declareOptions, ErrorCode, type TableDescription } from '../../api/index.js'
import { connectionDeclarations, HttpClient } from '../../http/client.js'
import { ServerErrorCode } from '../../http/errors.js'
import type { FetchAnswer } from '../../http/fetch.js'
import { linesOf } from './lines.js'
import type { BackupRequest, CompactRequest } from './routes.js'
import type {
  Compacted,
  DatabaseView,
  JsonRow,
  ReadWords,
  ScanWords,
  ShownStatistics,
  TablesView,
} from './views.js'

const connectionOptions = declareOptions('a server', connectionDeclarations)

/** A client for one path of a server. `ERR_INVALID_ARGUMENT` for an address that is none. */
export function serverClient(url: string, token: string | undefined, path: string): HttpClient {
  return new HttpClient(connectionOptions.read({ url, token }), {
    path,
    codes: { ...ErrorCode, ...ServerErrorCode },
    unavailable: ServerErrorCode.failed,
    malformed: ServerErrorCode.failed,
  })
}

export class RemoteDatabase implements DatabaseView {
  readonly #client: HttpClient

  /** `ERR_INVALID_ARGUMENT` for an address that is none. */
  constructor(url: string, token: string | undefined) {
    this.#client = serverClient(url, token, '/database')
  }

  tables(): Promise<TablesView> {
    return this.#get('/tables')
  }

  statistics(): Promise<ShownStatistics> {
    return this.#get('/statistics')
  }

  describe(table: string): Promise<TableDescription> {
    return this.#get(`/tables/${encodeURIComponent(table)}`)
  }

  async row(table: string, row: string, words: ReadWords): Promise<JsonRow | undefined> {
    const path = `/tables/${encodeURIComponent(table)}/rows/${encodeURIComponent(row)}`
    return (await this.#get<JsonRow | null>(path + queryOf(words))) ?? undefined
  }

  async *rows(table: string, words: ScanWords): AsyncGenerator<JsonRow, void> {
    const path = `/tables/${encodeURIComponent(table)}/rows${queryOf(words)}`
    const { body } = await this.#client.send('GET', path)
    for await (const line of linesOf(textOf(this.#client, body))) {
      yield this.#client.understand(() => JSON.parse(line) as JsonRow)
    }
  }

  async count(table: string, words: ScanWords): Promise<number> {
    const path = `/tables/${encodeURIComponent(table)}/count${queryOf(words)}`
    return (await this.#get<{ readonly rows: number }>(path)).rows
  }

  /** The result of `Database.verify` of the server's directory, as JSON. */
  verify(bytesPerSecond: string | undefined): Promise<object> {
    return this.#get(`/verify${queryOf({ bytesPerSecond })}`)
  }

  /** The result of `Database.inspect` of the server's directory, as JSON. */
  inspect(file: string | undefined): Promise<object> {
    return this.#get(`/inspect${queryOf({ file })}`)
  }

  /** Has the server make a backup of that name in its folder of backups. */
  backup<Made>(name: string, request: BackupRequest): Promise<Made> {
    return this.#post(`/backups/${encodeURIComponent(name)}`, request)
  }

  /** Has the server compact a table, or all. */
  compact(request: CompactRequest): Promise<Compacted> {
    return this.#post('/compact', request)
  }

  #get<T>(path: string): Promise<T> {
    return this.#client.call('GET', path, parsed<T>)
  }

  #post<T>(path: string, request: object): Promise<T> {
    const headers = { 'content-type': 'application/json' }
    return this.#client.call('POST', path, parsed<T>, { headers, body: JSON.stringify(request) })
  }
}

/** The text of an answer in pieces; breaking off the iteration closes the connection. */
async function* textOf(
  client: HttpClient,
  body: FetchAnswer['body'],
): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  const pieces = client.understand(() => body![Symbol.asyncIterator]())
  try {
    for (;;) {
      const next = await client.arrived(() => pieces.next())
      if (next.done === true) return
      yield decoder.decode(next.value, { stream: true })
    }
  } finally {
    await pieces.return?.()
  }
}

function parsed<T>(body: Buffer): T {
  return JSON.parse(body.toString('utf8')) as T
}

function queryOf(words: object): string {
  const pairs = Object.entries(words).flatMap(([name, value]): [string, string][] => {
    if (value === undefined || value === false) return []
    return [[name, typeof value === 'object' ? JSON.stringify(value) : String(value)]]
  })
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`
}
