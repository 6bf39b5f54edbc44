/** The OpenAPI description of the routes. */
import type { FastifyInstance, RouteOptions } from 'fastify'
import type { JsonSchema } from '../api/index.js'
import type { Operation } from '../http/operations.js'

const problem: JsonSchema = {
  title: 'Problem',
  type: 'object',
  properties: { code: { type: 'string' }, message: { type: 'string' } },
}

/** Describes the routes that are added later, in OpenAPI 3.1. */
export function describeRoutes(app: FastifyInstance): object {
  const paths: Record<string, Record<string, unknown>> = {}
  const schemas: Record<string, unknown> = {}
  app.addHook('onRoute', ({ url, method, config }: RouteOptions) => {
    const { operation } = (config ?? {}) as { operation?: Operation }
    // Beside each GET route stands one for HEAD.
    if (operation === undefined || method === 'HEAD') return
    const names = [...url.matchAll(/:(\w+)/g)].map(([, name]) => name)
    const parameters = names.map((name) => {
      return { name, in: 'path', required: true, schema: { type: 'string' } }
    })
    const path = url.replace(/:(\w+)/g, '{$1}')
    paths[path] ??= names.length === 0 ? {} : { parameters }
    paths[path][String(method).toLowerCase()] = describe(operation, schemas)
  })
  const info = { title: 'Cellar', version: '0.1.0' }
  return { openapi: '3.1.0', info, paths, components: { schemas } }
}

function describe(operation: Operation, schemas: Record<string, unknown>): object {
  const { id, summary, answers, query = {}, required = [], body, answer, mediaType } = operation
  const content = (schema: JsonSchema): object => {
    const json = { 'application/json': { schema: withReferences(schema, schemas) } }
    return { content: mediaType === undefined ? json : { ...json, [mediaType]: {} } }
  }
  const responses = Object.entries(answers).map(([status, description]) => {
    if (Number(status) >= 400) {
      const schema = withReferences(problem, schemas)
      return [status, { description, content: { 'application/json': { schema } } }] as const
    }
    const own = status === '200' && answer !== undefined ? content(answer) : {}
    return [status, { description, ...own }] as const
  })
  const parameters = Object.entries(query).map(([name, { description, ...schema }]) => {
    return { name, in: 'query', required: required.includes(name), description, schema }
  })
  return {
    operationId: id,
    summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: content(body) }),
    responses: Object.fromEntries(responses),
  }
}

/** The schema with references in place of the schemas that have a title, which are collected. */
function withReferences(schema: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(schema)) return schema.map((each) => withReferences(each, schemas))
  if (typeof schema !== 'object' || schema === null) return schema
  const own = Object.entries(schema).map(([name, each]) => [name, withReferences(each, schemas)])
  const { title } = schema as { title?: unknown }
  if (typeof title !== 'string') return Object.fromEntries(own) as unknown
  schemas[title] = Object.fromEntries(own)
  return { $ref: `#/components/schemas/${title}` }
}
