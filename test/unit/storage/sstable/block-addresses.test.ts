import t from 'tap'
import { BlockAddresses } from '../../../../src/storage/sstable/blocks/block-addresses.js'

void t.test('an address finds its memory, until the memory leaves', async (t) => {
  const addresses = new BlockAddresses()
  const [first, second] = [Buffer.from('first'), Buffer.from('second')]
  const address = addresses.add(first)
  const generation = addresses.generationOf(address)
  t.ok(generation > 0, 'no generation is 0, which stands for no address')
  t.equal(addresses.find(address, generation), first)
  addresses.remove(address)
  t.equal(addresses.find(address, generation), undefined)
  t.throws(() => addresses.remove(address), /taken back once/)
  t.equal(addresses.add(second), address, 'addresses are used again')
  t.equal(addresses.find(address, generation), undefined, 'but not for the old memory')
  t.equal(addresses.find(address, addresses.generationOf(address)), second)
})

void t.test('memories have addresses of their own', async (t) => {
  const addresses = new BlockAddresses()
  const memories = Array.from({ length: 300 }, (_, i) => Buffer.from(`${i}`))
  const given = memories.map((memory) => addresses.add(memory))
  t.equal(new Set(given).size, memories.length)
  for (const [i, address] of given.entries()) {
    t.equal(addresses.find(address, addresses.generationOf(address)), memories[i])
  }
})
