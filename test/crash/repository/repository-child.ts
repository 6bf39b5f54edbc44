/**
 * The process that the crash test of the content repository kills: writes versions of records with
 * blobs, a unique value, a link and an index, and prints each that was acknowledged.
 */
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { Database, NodeFileSystem } from '../../../src/entries/index.js'
import { FileBlobStore, Link, RepositoryManager } from '../../../src/systems/repository/index.js'

const records = 8
const writers = 4

async function main(home: string): Promise<void> {
  const database = await Database.open(join(home, 'database'), { flushBytes: 256 * 1024 })
  const store = new FileBlobStore(new NodeFileSystem(), join(home, 'blobs'))
  const manager = await RepositoryManager.open(database, {
    blobStores: [{ store, bytesMax: Infinity }],
    inlineBlobBytesMax: 10,
  })
  const { types } = manager
  await types.createOrUpdateFieldType({ name: '{n}blob', valueType: 'BLOB', scope: 'VERSIONED' })
  await types.createOrUpdateFieldType({ name: '{n}slug' })
  await types.createOrUpdateFieldType({ name: '{n}number', valueType: 'INTEGER' })
  await types.createOrUpdateFieldType({ name: '{n}to', valueType: 'LINK' })
  const fields = [{ name: '{n}slug', unique: true }]
  await types.createOrUpdateRecordType({ name: '{n}r', fields })
  const table = manager.repository().table()
  await table.indexes.create({ name: 'numbers', fields: ['{n}number', '{n}slug'] })
  await manager.followLinks()
  await manager.subscribe('idle', () => undefined)
  writeSync(1, 'open\n')
  const write = async (number: number): Promise<void> => {
    const id = `USER.${number}`
    const version = 1 + ((await table.exists(id)) ? ((await table.read(id)).version ?? 0) : 0)
    const bytes = Buffer.alloc(3000 + number, `${id} ${version}`)
    const blob = await manager.blobs.upload(bytes, { mediaType: 'a/b' })
    const values = {
      '{n}blob': blob,
      '{n}slug': `${number} ${version}`,
      '{n}number': version % 10,
      '{n}to': Link.to(`USER.${(number + version) % records}`),
    }
    await table.createOrUpdate({ id, type: '{n}r', fields: values })
    writeSync(1, `${id} ${version}\n`)
  }
  const work = async (writer: number): Promise<never> => {
    for (let at = 0; ; at += writers) await write((writer + at) % records)
  }
  await Promise.all(Array.from({ length: writers }, (_, writer) => work(writer)))
}

main(process.argv[2]).catch((error: unknown) => {
  writeSync(2, `${error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(7)
})
