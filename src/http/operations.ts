/**
 * The declaration of routes. From one declaration come the route, the check of its query, and its
 * part of the OpenAPI description.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { invalidArgument, shown, type JsonSchema } from '../api/index.js'

/** One operation of the interface. */
export interface Operation {
  /** Unique among all operations. */
  readonly id: string
  /** The operation in a few words. */
  readonly summary: string
  /** Descriptions of the answers by their status. */
  readonly answers: Readonly<Record<number, string>>
  /**
   * Schemas of the query parameters; the server checks them and fills in defaults. A parameter `ns`
   * that is an object stands for all whose names begin with `ns.`.
   */
  readonly query?: Readonly<Record<string, JsonSchema>> | undefined
  /** Query parameters that must be given. */
  readonly required?: readonly string[] | undefined
  /** Schema of the body in JSON. */
  readonly body?: JsonSchema | undefined
  /** Schema of a successful answer in JSON. */
  readonly answer?: JsonSchema | undefined
  /** A content type beside JSON. */
  readonly mediaType?: string | undefined
}

/** The id of an operation: its summary in camel case. */
export function operationId(summary: string): string {
  return summary.replace(/ (\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** A route of a system; `Call` is a request as the handlers of the system see it. */
export interface Route<Call> extends Operation {
  /** Method and path, such as `get /record/:id`. */
  readonly at: string
  /**
   * Answers a request: returns the payload, which is JSON, a text, bytes or a stream. Status and
   * headers are set on the reply, which `run` never sends: fastify waits for the end of a reply
   * that a handler returns, and sends the payload of the handler after that.
   */
  readonly run: (call: Call) => unknown
}

/**
 * Adds routes below a prefix. `callOf` makes the call of a request, or refuses it. A request with a
 * query parameter that its route does not declare is refused before.
 */
export function addRoutes<Call>(
  app: FastifyInstance,
  prefix: string,
  routes: readonly Route<Call>[],
  callOf: (request: FastifyRequest, reply: FastifyReply) => Call | Promise<Call>,
): void {
  for (const route of routes) {
    const [method, path] = route.at.split(' ')
    addRoute(app, method, prefix + path, route, (request, reply) => {
      checkParameters(request, route)
      const call = callOf(request, reply)
      return call instanceof Promise ? call.then(route.run) : route.run(call)
    })
  }
}

/** A misspelt parameter would otherwise be as one that is not given. `ERR_INVALID_ARGUMENT`. */
function checkParameters({ query }: FastifyRequest, { query: declared = {} }: Operation): void {
  for (const [name, value] of Object.entries(query as Record<string, unknown>)) {
    if (Object.hasOwn(declared, name)) continue
    const group = name.slice(0, Math.max(0, name.indexOf('.')))
    if (!Object.hasOwn(declared, group) || declared[group]['type'] !== 'object') {
      const known = Object.keys(declared).join(', ')
      const others = known === '' ? 'the address has none' : `there are: ${known}`
      throw invalidArgument(`unknown parameter ${shown(name)}; ${others}`)
    }
    if (typeof value !== 'string') throw invalidArgument(`${shown(name)} is given more than once`)
  }
}

/**
 * Adds a route with its description. The handler returns the payload, as {@link Route}; without one
 * the body is empty.
 */
export function addRoute(
  app: FastifyInstance,
  method: string,
  url: string,
  operation: Operation,
  handler: (request: FastifyRequest, reply: FastifyReply) => unknown,
): void {
  const { query: properties, required = [], answers } = operation
  const querystring = { type: 'object', properties, required }
  const config: object = { operation }
  app.route({
    method: method.toUpperCase(),
    url,
    config,
    handler: async (request, reply) => {
      if (properties !== undefined) readQuery(request, querystring)
      const payload = await handler(request, reply)
      if (payload === undefined && answers[200] === undefined) void reply.code(204)
      return payload
    },
  })
}

/**
 * Checks and converts the query of a request, and fills in its defaults. fastify compiles a schema
 * here when its route is first used; given with the route it would be compiled by each start of a
 * server. `ERR_INVALID_ARGUMENT`.
 */
function readQuery(request: FastifyRequest, querystring: object): void {
  if (request.validateInput(request.query, querystring)) return
  const errors = request.getValidationFunction(querystring)?.errors ?? []
  const messages = errors.map(({ instancePath, message }) => {
    return `querystring${instancePath} ${message ?? 'is wrong'}`
  })
  throw invalidArgument(messages.join(', '))
}

/** A body in JSON, as `declareOptions` declares one. */
export interface JsonBody<Read> {
  readonly schema: JsonSchema
  read(given: never): Read
}

/** Reads the body of a request; an empty body is an empty object. `ERR_INVALID_ARGUMENT`. */
export function readBody<Read>({ body }: FastifyRequest, declared: JsonBody<Read>): Read {
  return declared.read(parsedJson(body as Buffer) as never)
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The JSON of a body; an empty body is an empty object. `ERR_INVALID_ARGUMENT`. */
export function parsedJson(body: Buffer): unknown {
  if (body.length === 0) return {}
  try {
    return JSON.parse(utf8.decode(body)) as unknown
  } catch {
    throw invalidArgument('the body is no JSON')
  }
}
