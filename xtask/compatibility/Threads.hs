-- Haskell threads on several capabilities: variables that block, and operating system threads.
import Control.Concurrent
import Control.Monad

main :: IO ()
main = do
  count <- newMVar (0 :: Int)
  dones <- forM [1 .. 8 :: Int] $ \n -> do
    done <- newEmptyMVar
    let start = if even n then forkOS else forkIO
    _ <- start $ replicateM_ 1000 (modifyMVar_ count (return . (+ 1))) >> putMVar done n
    return done
  sums <- mapM takeMVar dones
  total <- readMVar count
  putStrLn (show total ++ " " ++ show (sum sums))
