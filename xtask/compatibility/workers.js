// Workers that raise one counter and wait on shared memory, and the pool of threads behind files and scrypt.
const { Worker, isMainThread, workerData } = require('worker_threads');
const { scrypt } = require('crypto');
const { readFile } = require('fs/promises');
const { promisify } = require('util');

if (!isMainThread) {
  const words = new Int32Array(workerData);
  Atomics.wait(words, 1, 0);
  for (let i = 0; i < 10000; i++) Atomics.add(words, 0, 1);
} else {
  const words = new Int32Array(new SharedArrayBuffer(8));
  const workers = [1, 2, 3, 4].map(() => new Worker(__filename, { workerData: words.buffer }));
  const ended = workers.map(worker => new Promise(done => worker.on('exit', done)));
  Atomics.store(words, 1, 1);
  const waker = setInterval(() => Atomics.notify(words, 1), 5);
  Promise.all(ended).then(async () => {
    clearInterval(waker);
    const keys = await Promise.all([...Array(8).keys()].map(n => promisify(scrypt)(`password${n}`, 'salt', 16, { N: 1024 })));
    const files = await Promise.all(Array(40).fill(__filename).map(name => readFile(name)));
    if (new Set(files.map(String)).size !== 1) throw new Error('the file changed');
    console.log(words[0], new Set(keys.map(key => key.toString('hex'))).size);
  });
}
