print("EKNetwork")
