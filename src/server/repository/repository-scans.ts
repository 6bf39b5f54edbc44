/** Routes of scanners: scans that continue over several requests. */
import type { FastifyReply } from 'fastify'
import {
  recordToJson,
  RepositoryError,
  RepositoryErrorCode,
  scanFromJson,
} from '../../systems/repository/index.js'
import type { Call } from './repository-call.js'

/** POST of a scan. */
export async function openScan(call: Call): Promise<FastifyReply> {
  const table = call.readable
  const scan = scanFromJson(call.json, call.input)
  const token = await call.manager.scanners.open(table, scan, ownerOf(call))
  const path = call.request.url.split('?')[0]
  return call.reply.code(201).header('location', `${path}/${token}`).send({ id: token })
}

/** GET of the next records. */
export async function nextOfScan(call: Call): Promise<FastifyReply> {
  const { scanners } = call.manager
  const token = await ownToken(call)
  const records = await scanners.next(token, call.count('batch', 1), ownerOf(call))
  if (records === undefined) return call.reply.code(204).send()
  return call.reply.send({ results: records.map((record) => recordToJson(record, call.output)) })
}

/** DELETE of a scanner. */
export async function closeScan(call: Call): Promise<FastifyReply> {
  await call.manager.scanners.close(await ownToken(call), ownerOf(call))
  return call.reply.code(200).send()
}

function ownerOf({ principal }: Call): { readonly owner: string } {
  return { owner: principal.name }
}

/** The token in the address, if its scanner belongs to the table in the address. */
async function ownToken(call: Call): Promise<string> {
  const table = call.readable
  const token = call.parameter('scanner')
  if ((await call.manager.scanners.tableOf(token, ownerOf(call))) === table) return token
  throw new RepositoryError(RepositoryErrorCode.scannerNotFound, 'there is no such scanner')
}
