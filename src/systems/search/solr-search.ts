/**
 * Apache Solr as search backend, over its HTTP interface: `/update` and `/select` of one core.
 *
 * The core needs a string field for keys as unique key, and the reserved fields. A response 400 to
 * several documents means that Solr will never accept one of them; they are then sent one by one.
 * Any other failure is `ERR_SEARCH_SERVER`, and the caller sends the changes again. A query is sent
 * in one form, which every parser of Lucene's syntax reads alike.
 */
import {
  CellarError,
  checked,
  checkObject,
  checkText,
  declareOptions,
  integer,
  invalidArgument,
  required,
  shown,
  timerMillisecondsMax,
  type OptionsOf,
  type SettingsOf,
} from '../../api/index.js'
import {
  factorMax,
  fieldsOf,
  parseQuery,
  queryError,
  type Occurrence,
  type QueryClause,
  type QueryNode,
} from './query-syntax.js'
import {
  changesOptions,
  reservedFields,
  searchOptions,
  type RejectedDocument,
  type SearchBackend,
  type SearchChanges,
  type SearchDocument,
  type SearchHit,
  type SearchQuery,
  type SearchResult,
  type SearchSort,
} from './search-backend.js'

type HeaderTexts = Readonly<Record<string, string>>

const plainName = /^[\p{L}\p{N}_.-]+$/u

function checkUrl(url: string, what: string): string {
  if (typeof url === 'string' && URL.canParse(url) && /^https?:/.test(url)) return url
  throw invalidArgument(`${what} must be the address of a core, got ${shown(url)}`)
}

function checkKeyField(keyField: string, what: string): string {
  if (plainName.test(checkText(keyField, what))) return keyField
  throw invalidArgument(`${what} cannot be ${shown(keyField)}`)
}

function readHeaders(given: HeaderTexts, what: string): HeaderTexts {
  const headers = { ...checkObject(given, what) }
  for (const [name, value] of Object.entries(headers)) checkText(value, `the header ${name}`)
  // Throws for names and values that are not valid in HTTP.
  new Headers(headers)
  return headers
}

const solrOptions = declareOptions('a Solr search', {
  /** URL of the core: `http://localhost:8983/solr/records`. */
  url: required(checked(checkUrl)),
  /** The unique key field of the core. Default `lily.key`. */
  keyField: checked(checkKeyField, reservedFields.key),
  /** Headers of all requests, for instance `authorization`. */
  headers: checked(readHeaders, {} as HeaderTexts),
  /** Milliseconds until a request fails. Default 30,000. */
  timeoutMilliseconds: integer({ min: 1, max: timerMillisecondsMax, default: 30_000 }),
})

/** Options of {@link SolrSearch}. */
export interface SolrSearchOptions extends OptionsOf<typeof solrOptions> {}

type SolrDocument = Readonly<Record<string, unknown>>

/** The part of Solr's answers that is read; an error is the message of a response 400. */
interface SolrAnswer {
  readonly refusal?: string
  readonly response?: { readonly numFound: number; readonly docs: readonly SolrDocument[] }
}

/** A core of Solr. */
export class SolrSearch implements SearchBackend {
  readonly #settings: SettingsOf<typeof solrOptions>
  readonly #url: string
  #isClosed = false

  /** Sends no request. `ERR_INVALID_ARGUMENT`. */
  constructor(options: SolrSearchOptions) {
    this.#settings = solrOptions.read(options)
    this.#url = this.#settings.url.replace(/\/+$/, '')
  }

  async update(changes: SearchChanges): Promise<RejectedDocument[]> {
    const { documents, removedKeys, removedRecords } = changesOptions.read(changes)
    const removals = removedKeys.map((key) => command('delete', { id: key }))
    for (const { table, id } of removedRecords) {
      const query = `+${reservedFields.table}:${quoted(table)} +${reservedFields.id}:${quoted(id)}`
      removals.push(command('delete', { query }))
    }
    const additions = documents.map((document) => this.#addition(document))
    if (removals.length + additions.length === 0) return []
    const refusal = await this.#update([...removals, ...additions])
    if (refusal === undefined) return []
    if (removals.length > 0) await this.#mustUpdate(removals)
    const rejected: RejectedDocument[] = []
    for (const [index, addition] of additions.entries()) {
      const reason = await this.#update([addition])
      if (reason !== undefined) rejected.push({ key: documents[index].key, reason })
    }
    return rejected
  }

  async commit(): Promise<void> {
    await this.#mustUpdate([command('commit', {})])
  }

  async clear(): Promise<void> {
    await this.#mustUpdate([command('delete', { query: '*:*' }), command('commit', {})])
  }

  /** See {@link SearchBackend.search}. Field values are returned as Solr has stored them. */
  async search(query: SearchQuery): Promise<SearchResult> {
    const { query: q, filters, defaultField, sort, offset, limit } = searchOptions.read(query)
    // Solr gets what was parsed here: it reads some texts in another way, and has more languages.
    const parsed = (text: string): string => {
      const node = parseQuery(text, defaultField)
      // A field of this form calls another language.
      const other = fieldsOf(node).find((field) => /^_.*_$/.test(field))
      if (other !== undefined) throw invalidArgument(`the index has no field ${other}`)
      return queryText(node)
    }
    const form = new URLSearchParams({
      q: parsed(q),
      'q.op': 'OR',
      defType: 'lucene',
      fl: '*,score',
      wt: 'json',
      start: String(offset),
      rows: String(limit),
      sort: this.#sort(sort),
    })
    for (const filter of filters) form.append('fq', parsed(filter))
    const { refusal, response } = await this.#send('select', form)
    if (refusal !== undefined) throw invalidArgument(`Solr refuses the query: ${refusal}`)
    if (response === undefined) throw serverError('Solr answers without a response')
    return { total: response.numFound, hits: response.docs.map((found) => this.#hit(found)) }
  }

  /** Later calls fail. The core of the server is not changed. */
  async close(): Promise<void> {
    this.#isClosed = true
  }

  #addition({ key, fields }: SearchDocument): string {
    const doc: Record<string, unknown> = { ...fields, [this.#settings.keyField]: key }
    for (const [name, values] of Object.entries(doc)) {
      if (Array.isArray(values) && values.length === 1) doc[name] = values[0] as string
    }
    return command('add', { doc })
  }

  #sort(sort: readonly SearchSort[]): string {
    const orders = sort.length > 0 ? sort : [{ field: 'score', descending: true }]
    const texts = orders.map(({ field, descending }) => {
      if (!plainName.test(field)) throw invalidArgument(`${shown(field)} cannot sort`)
      return `${field} ${descending === true ? 'desc' : 'asc'}`
    })
    return [...texts, `${this.#settings.keyField} asc`].join(', ')
  }

  #hit(found: SolrDocument): SearchHit {
    const { keyField } = this.#settings
    const fields: Record<string, string[]> = {}
    for (const [name, value] of Object.entries(found)) {
      if (name === 'score' || name === keyField || /^_.*_$/.test(name)) continue
      fields[name] = (Array.isArray(value) ? value : [value]).map(String)
    }
    return { key: String(found[keyField]), score: Number(found['score']), fields }
  }

  /** Sends commands; returns the message of a response 400. */
  async #update(commands: readonly string[]): Promise<string | undefined> {
    return (await this.#send('update?wt=json', `{${commands.join(',')}}`)).refusal
  }

  async #mustUpdate(commands: readonly string[]): Promise<void> {
    const refusal = await this.#update(commands)
    if (refusal !== undefined) throw serverError(`Solr refuses: ${refusal}`)
  }

  async #send(path: string, body: string | URLSearchParams): Promise<SolrAnswer> {
    if (this.#isClosed) {
      throw new CellarError('ERR_REPOSITORY_CLOSED', 'the search backend is closed')
    }
    const { headers: own, timeoutMilliseconds } = this.#settings
    const headers: Record<string, string> = { ...own }
    if (typeof body === 'string') headers['content-type'] = 'application/json'
    const signal = AbortSignal.timeout(timeoutMilliseconds)
    const { status, text } = await fetch(`${this.#url}/${path}`, {
      method: 'POST',
      body,
      headers,
      signal,
    })
      .then(async (response) => ({ status: response.status, text: await response.text() }))
      .catch((error: unknown) => {
        throw serverError(`Solr does not answer at ${this.#url}`, error)
      })
    if (status === 400) return { refusal: messageOf(text) }
    if (status !== 200) throw serverError(`Solr answers ${status}: ${messageOf(text)}`)
    try {
      const { response } = JSON.parse(text) as SolrAnswer
      return response === undefined ? {} : { response }
    } catch (error) {
      throw serverError('Solr answers no JSON', error)
    }
  }
}

/** A command of `/update`. Built as text, because the object may repeat a command's name. */
function command(name: string, body: unknown): string {
  return `${JSON.stringify(name)}:${JSON.stringify(body)}`
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

/** The message of an error response of Solr, or the beginning of its text. */
function messageOf(text: string): string {
  try {
    const message = (JSON.parse(text) as { error?: { msg?: unknown } }).error?.msg
    if (typeof message === 'string') return message
  } catch {
    // A proxy in between may answer with an HTML page.
  }
  return text.slice(0, 200)
}

function serverError(message: string, cause?: unknown): CellarError {
  return new CellarError('ERR_SEARCH_SERVER', message, { cause })
}

const signs: Readonly<Record<Occurrence, string>> = { MUST: '+', SHOULD: '', MUST_NOT: '-' }

/**
 * The text of a parsed query in one form that every parser of Lucene's syntax reads alike: each
 * term names its field, and each character that could have a meaning is an escape.
 * `ERR_INVALID_ARGUMENT`.
 */
export function queryText(node: QueryNode): string {
  const isBare = node.type === 'boolean' && node.boost === 1
  return isBare ? clausesText(node.clauses) : nodeText(node)
}

function clausesText(clauses: readonly QueryClause[]): string {
  return clauses.map(({ occurrence, node }) => `${signs[occurrence]}${nodeText(node)}`).join(' ')
}

function nodeText(node: QueryNode): string {
  return `${bodyText(node)}${node.boost === 1 ? '' : `^${factorText(node)}`}`
}

function bodyText(node: QueryNode): string {
  switch (node.type) {
    case 'all':
      return '*:*'
    case 'boolean':
      return `(${clausesText(node.clauses)})`
    case 'term':
      return `${escaped(node.field)}:${escaped(node.text)}`
    case 'phrase':
      return `${escaped(node.field)}:"${escaped(node.text)}"`
    case 'prefix':
    case 'exists':
      return `${escaped(node.field)}:${escaped(node.text)}*`
    case 'range': {
      const { low, high, includesLow, includesHigh } = node
      const ends = `${endText(low)} TO ${endText(high)}`
      return `${escaped(node.field)}:${includesLow ? '[' : '{'}${ends}${includesHigh ? ']' : '}'}`
    }
  }
}

function endText(end: string | undefined): string {
  return end === undefined ? '*' : `"${escaped(end)}"`
}

const operator = /^(AND|OR|NOT|TO)$/
const special = /[^\p{L}\p{N}_.]/gu

/** Letters and digits stay, unless they make an operator; others become `\u` and four digits. */
function escaped(text: string): string {
  return text.replace(operator.test(text) ? /[^]/g : special, (character) => {
    // Character by character of JavaScript, so that a pair of surrogates becomes two escapes.
    return character.replace(/[^]/g, (each) => {
      return `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`
    })
  })
}

/** A factor without an exponent, which the syntax does not have. */
function factorText(node: QueryNode): string {
  const { boost } = node
  if (!(boost <= factorMax)) {
    const position = 'position' in node ? node.position : 0
    throw queryError(position, `the factors with ^ make more than ${factorMax}`)
  }
  if (boost >= 1e21) return BigInt(boost).toString()
  return boost > 0 && boost < 1e-6 ? boost.toFixed(100) : String(boost)
}
