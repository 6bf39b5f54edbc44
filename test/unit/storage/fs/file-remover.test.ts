import t from 'tap'
import { FaultyFileSystem } from '../../../doubles/faulty-fs.js'
import { FileRemover } from '../../../../src/storage/fs/file-remover.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'

function withFiles(names: readonly string[]): SimulatedDisk {
  const fileSystem = new SimulatedDisk()
  for (const name of names) fileSystem.openSync(`/${name}`, 'create').closeSync()
  return fileSystem
}

void t.test('files go one after another, in a later turn', async (t) => {
  const fileSystem = withFiles(['a', 'b', 'c'])
  const remover = new FileRemover(fileSystem, (error) => t.fail('no error', { error }))
  remover.remove('/a')
  remover.remove('/b')
  t.same(fileSystem.listSync('/'), ['a', 'b', 'c'], 'not before the turn ends')
  const idle = remover.idle()
  await new Promise((resolve) => setImmediate(resolve))
  t.same(fileSystem.listSync('/'), ['b', 'c'])
  remover.remove('/c')
  await idle
  t.same(fileSystem.listSync('/'), [])
  await remover.idle()
})

void t.test('a file that stays is reported, and the others go', async (t) => {
  const inner = withFiles(['a', 'b'])
  const fileSystem = new FaultyFileSystem(inner, { failAt: 1, errno: 'EIO' })
  const errors: unknown[] = []
  const remover = new FileRemover(fileSystem, (error) => errors.push(error))
  for (const path of ['/a', '/b', '/missing']) remover.remove(path)
  await remover.idle()
  t.match(errors, [{ code: 'ERR_IO' }, { code: 'ERR_IO' }])
  t.same(inner.listSync('/'), ['a'])
})
