import EKNetwork
import Testing
